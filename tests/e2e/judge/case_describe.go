// `kinformer describe` compared byte for byte with kubectl's, of objects that have what the layouts can show.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var describeCases = []testCase{
	{name: "describe", kinformerOnly: true, deadline: 10 * time.Minute, run: describeObjects},
}

const describeDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"chairs.furniture.example.com"},"spec":{"group":"furniture.example.com","scope":"Namespaced","names":{"plural":"chairs","singular":"chair","kind":"Chair","listKind":"ChairList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// The user bob may see nodes, services and deployments, but not what belongs to them.
const describedObjects = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}},
{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"describe-high"},"value":1000},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"full","labels":{"app":"web","tier":"a"},"annotations":{"short":"text","lines":"one\ntwo\n","long":"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789","escape":"a\u001b[31mb\rc","tab":"a\tb"}},"spec":{"nodeName":"describe-1","priorityClassName":"describe-high","serviceAccountName":"default","automountServiceAccountToken":false,"securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"p.json"}},"readinessGates":[{"conditionType":"example.com/a"},{"conditionType":"example.com/b"}],"nodeSelector":{"zone":"b","disk":"ssd"},"terminationGracePeriodSeconds":10,"tolerations":[{"operator":"Exists","effect":"NoExecute","tolerationSeconds":60,"key":"z"},{"key":"b","operator":"Equal","value":"v","effect":"NoSchedule"},{"operator":"Exists"},{"key":"a","operator":"Exists"}],"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":2,"whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"x","operator":"In","values":["b","a"]}]}},{"topologyKey":"host","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}],"initContainers":[{"name":"setup","image":"i:1","command":["sh","-c","one\ntwo"],"args":["x"]},{"name":"sidecar","image":"s:1","restartPolicy":"Always","resources":{"requests":{"cpu":"50m"}}}],"containers":[{"name":"web","image":"web:1","ports":[{"name":"http","containerPort":8080},{"containerPort":53,"protocol":"UDP","hostPort":5353}],"resources":{"limits":{"cpu":"1500m","memory":"1Gi"},"requests":{"cpu":"0.25","memory":"512Mi","ephemeral-storage":"1G"}},"livenessProbe":{"httpGet":{"path":"/live z?x=1","port":"http","scheme":"HTTPS"},"initialDelaySeconds":5},"readinessProbe":{"exec":{"command":["cat","/tmp/x"]},"periodSeconds":3},"startupProbe":{"grpc":{"port":9000,"service":"s"}},"envFrom":[{"configMapRef":{"name":"m"}},{"prefix":"P_","secretRef":{"name":"s","optional":true}}],"env":[{"name":"A","value":"1"},{"name":"LINES","value":"one\ntwo"},{"name":"EMPTY"},{"name":"NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},{"name":"LABEL","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['app']"}}},{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},{"name":"MILLI","valueFrom":{"resourceFieldRef":{"resource":"requests.cpu","divisor":"1m"}}},{"name":"MEM","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Mi"}}},{"name":"EPH","valueFrom":{"resourceFieldRef":{"resource":"limits.ephemeral-storage"}}},{"name":"KEY","valueFrom":{"secretKeyRef":{"name":"s","key":"k","optional":true}}},{"name":"MAP","valueFrom":{"configMapKeyRef":{"name":"m","key":"k"}}}],"volumeMounts":[{"name":"empty","mountPath":"/z"},{"name":"map","mountPath":"/a","readOnly":true,"subPath":"x/\"y"}],"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}}},{"name":"plain","image":"plain:2","livenessProbe":{"tcpSocket":{"port":99}},"env":[{"name":"NODE","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}],"volumes":[{"name":"empty","emptyDir":{}},{"name":"limited","emptyDir":{"medium":"Memory","sizeLimit":"1.5Gi"}},{"name":"map","configMap":{"name":"m","optional":true}},{"name":"secret","secret":{"secretName":"s"}},{"name":"host","hostPath":{"path":"/var","type":"Directory"}},{"name":"host2","hostPath":{"path":"/var"}},{"name":"claim","persistentVolumeClaim":{"claimName":"c","readOnly":true}},{"name":"down","downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}},{"path":"cpu","resourceFieldRef":{"containerName":"web","resource":"limits.cpu"}}]}},{"name":"proj","projected":{"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":3607}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"ns","fieldRef":{"fieldPath":"metadata.namespace"}}]}},{"secret":{"name":"s","optional":true}}]}},{"name":"csi","csi":{"driver":"d.example.com","fsType":"ext4","readOnly":true,"volumeAttributes":{"b":"2","a":"1"}}},{"name":"csi2","csi":{"driver":"e.example.com"}},{"name":"nfs","nfs":{"server":"n","path":"/p"}},{"name":"eph","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"x":"1","y":"2"}},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}}}},{"name":"iscsi","iscsi":{"targetPortal":"1.2.3.4:3260","iqn":"iqn.2001-04.com.example:storage.disk1","lun":1,"portals":["1.2.3.5:3260","1.2.3.6:3260"],"secretRef":{"name":"s"},"chapAuthSession":true}},{"name":"fc","fc":{"targetWWNs":["50060e801049cfd1","50060e801049cfd2"],"lun":2}},{"name":"flex","flexVolume":{"driver":"example.com/d","options":{"b":"2","a":"1"}}},{"name":"img","image":{"reference":"r:1","pullPolicy":"Always"}},{"name":"rbd","rbd":{"monitors":["a","b"],"image":"i"}},{"name":"ceph","cephfs":{"monitors":["a"],"secretRef":{"name":"s"}}},{"name":"azd","azureDisk":{"diskName":"d","diskURI":"https://blob/d.vhd"}},{"name":"azf","azureFile":{"secretName":"s","shareName":"h"}},{"name":"git","gitRepo":{"repository":"r","revision":"v"}},{"name":"gce","gcePersistentDisk":{"pdName":"p","partition":3}},{"name":"aws","awsElasticBlockStore":{"volumeID":"v"}},{"name":"vs","vsphereVolume":{"volumePath":"p"}},{"name":"gl","glusterfs":{"endpoints":"e","path":"p"}},{"name":"pw","portworxVolume":{"volumeID":"v"}},{"name":"cin","cinder":{"volumeID":"v"}},{"name":"sio","scaleIO":{"gateway":"g","system":"s","secretRef":{"name":"s"},"volumeName":"v"}},{"name":"sos","storageos":{"volumeName":"v"}},{"name":"qb","quobyte":{"registry":"r:1","volume":"v"}},{"name":"flk","flocker":{"datasetName":"d"}},{"name":"pho","photonPersistentDisk":{"pdID":"p"}}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"waits"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i:1"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"ended","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"job","uid":"11111111-1111-1111-1111-111111111111","controller":true}]},"spec":{"nodeName":"describe-1","restartPolicy":"Never","containers":[{"name":"c","image":"i:1"},{"name":"d","image":"i:1"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"small"},"spec":{"nodeName":"describe-1","overhead":null,"containers":[{"name":"c","image":"i:1","resources":{"limits":{"cpu":"200m","memory":"64Mi"}}}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"leaving","finalizers":["example.com/f"]},"spec":{"nodeName":"describe-1","containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"100m","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]}},
{"apiVersion":"v1","kind":"Node","metadata":{"name":"describe-1","labels":{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":""},"annotations":{"a":"b"}},"spec":{"unschedulable":true,"podCIDR":"10.9.0.0/24","podCIDRs":["10.9.0.0/24"],"providerID":"x://y","taints":[{"key":"b","effect":"NoSchedule"},{"key":"a","value":"v","effect":"NoSchedule"},{"key":"c","effect":"NoExecute"}]}},
{"apiVersion":"v1","kind":"Node","metadata":{"name":"describe-2"}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"plain","labels":{"a":"b"}},"spec":{"ports":[{"name":"http","port":80,"targetPort":8080},{"name":"dns","port":53,"protocol":"UDP","targetPort":"dns","appProtocol":"example.com/x"}],"selector":{"b":"2","a":"1"}}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"headless"},"spec":{"clusterIP":"None","externalIPs":["192.0.2.7","192.0.2.8"],"selector":{"a":"1"}}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"elsewhere"},"spec":{"type":"ExternalName","externalName":"example.com"}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"balanced"},"spec":{"type":"LoadBalancer","externalTrafficPolicy":"Local","trafficDistribution":"PreferClose","loadBalancerIP":"192.0.2.9","loadBalancerSourceRanges":["10.0.0.0/8","11.0.0.0/8"],"ports":[{"port":80}],"selector":{"a":"1"},"sessionAffinity":"ClientIP"}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"on-nodes"},"spec":{"type":"NodePort","ports":[{"name":"x","port":80}],"selector":{"a":"1"}}},
{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"plain-1","labels":{"kubernetes.io/service-name":"plain"}},"addressType":"IPv4","ports":[{"name":"http","port":8080},{"name":"dns","port":53,"protocol":"UDP"}],"endpoints":[{"addresses":["192.0.2.1"]},{"addresses":["192.0.2.2"],"conditions":{"ready":false}},{"addresses":["192.0.2.3"],"conditions":{"ready":true}},{"addresses":["192.0.2.4"]},{"addresses":["192.0.2.5"]}]},
{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"plain-2","labels":{"kubernetes.io/service-name":"plain"}},"addressType":"IPv6","ports":[{"name":"http","port":8080}],"endpoints":[{"addresses":["2001:db8::1"]}]},
{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"on-nodes-1","labels":{"kubernetes.io/service-name":"on-nodes"}},"addressType":"IPv6","ports":[{"name":"x","port":8080}],"endpoints":[{"addresses":["2001:db8::1"]},{"addresses":["2001:db8::2"],"conditions":{"ready":false}}]},
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"},"annotations":{"deployment.kubernetes.io/revision":"2"}},"spec":{"replicas":3,"minReadySeconds":5,"selector":{"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["2","1"]},{"key":"z","operator":"DoesNotExist"}]},"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":"25%"}},"template":{"metadata":{"labels":{"a":"1","b":"2"},"annotations":{"x":"y"}},"spec":{"serviceAccountName":"default","priorityClassName":"describe-high","nodeSelector":{"x":"y"},"tolerations":[{"operator":"Exists"}],"topologySpreadConstraints":[{"topologyKey":"b","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"},{"topologyKey":"a","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}],"initContainers":[{"name":"i","image":"i:1"}],"containers":[{"name":"c","image":"i:1","env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"volumeMounts":[{"name":"v","mountPath":"/v"}]},{"name":"d","image":"i:2"}],"volumes":[{"name":"v","emptyDir":{}}]}}}},
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"bare"},"spec":{"replicas":0,"selector":{"matchLabels":{"c":"3"}},"strategy":{"type":"Recreate"},"template":{"metadata":{"labels":{"c":"3"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":"1","b":"one\ntwo\n"}},
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"1"}},
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"lease"},"spec":{"holderIdentity":"me","leaseDurationSeconds":15}},
{"apiVersion":"furniture.example.com/v1","kind":"Chair","metadata":{"name":"big","labels":{"x":"y"}},"spec":{"legs":4,"height":0.75,"big":1e+21,"oak":true,"podIPs":["a","b"],"HTTPGet":{"apiVersion":"v1"},"drawers":{"b":[1,"x",null,[1,{"q":"r"}]],"a":{},"none":null,"list":[]},"my-field":1,"a.b":"2","someURL":"u","listOfObjects":[{"b":1,"a":{"c":2}},{"x":"y"}]},"status":{"conditions":[{"type":"Old","status":"False"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"r1"},"spec":{"nodeName":"describe-2","initContainers":[{"name":"i","image":"i","resources":{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"2"}}},{"name":"s","image":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"100m","memory":"10Mi"}}},{"name":"j","image":"i","resources":{"requests":{"cpu":"1950m","memory":"0.5Gi"}}}],"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"300m","memory":"100M"},"limits":{"hugepages-2Mi":"4Mi","memory":"200M","example.com/gpu":"3"}}}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"r2"},"spec":{"nodeName":"describe-2","resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1","memory":"1Gi"}},"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"300m","memory":"100M"}}},{"name":"d","image":"i"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"r3"},"spec":{"nodeName":"describe-2","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"0.1","memory":"1e3","ephemeral-storage":"1Ki"}}},{"name":"d","image":"i","resources":{"requests":{"cpu":"1m","memory":"1000Ki"},"limits":{"memory":"1.5Gi"}}}]}},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"bob"},"rules":[{"apiGroups":["","apps"],"resources":["nodes","services","deployments"],"verbs":["get","list"]},{"apiGroups":["x"],"resources":["pods"],"verbs":["list"]}]},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"bob"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"bob"},"subjects":[{"kind":"User","name":"bob","apiGroup":"rbac.authorization.k8s.io"}]},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-0"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p0","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-1"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p0","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-2"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p2","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-3"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p3","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-4"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p4","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-5"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p5","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-6"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p6","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-7"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p7","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-8"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p8","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-9"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p9","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-10"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p10","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"describe-11"},"spec":{"driver":"d.example.com","nodeName":"describe-1","pool":{"name":"p11","generation":1,"resourceSliceCount":1},"devices":[{"name":"a"},{"name":"b"}]}}]}`

const describedLease = `{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "describe-1", "namespace": "kube-node-lease"}, "spec": {"holderIdentity": "describe-1", "renewTime": "2024-01-02T03:04:05.000000Z", "leaseDurationSeconds": 40}}`

// UID is replaced by the uid of the pod small.
const describedEvents = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Event","metadata":{"name":"e1"},"involvedObject":{"kind":"Pod","namespace":"describe","name":"small","uid":"UID","fieldPath":"spec.containers{c}"},"type":"Normal","reason":"Started","message":" one\ntwo ","source":{"component":"kubelet","host":"n"},"firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-03-01T00:00:00Z","count":4},
{"apiVersion":"v1","kind":"Event","metadata":{"name":"e2"},"involvedObject":{"kind":"Pod","namespace":"describe","name":"small","uid":"UID"},"type":"Warning","reason":"Failed","message":"bad\u001b[1m","reportingComponent":"example.com/c","reportingInstance":"i","action":"a","eventTime":"2024-01-01T00:00:00.000000Z","series":{"count":7,"lastObservedTime":"2024-02-01T00:00:00.000000Z"}},
{"apiVersion":"v1","kind":"Event","metadata":{"name":"e3"},"involvedObject":{"kind":"Pod","namespace":"describe","name":"small","uid":"UID"},"type":"Normal","reason":"Scheduled","message":"once","source":{"component":"s"},"firstTimestamp":"2023-01-01T00:00:00Z","lastTimestamp":"2023-01-01T00:00:00Z","count":1}]}`

var describedStatuses = []struct{ object, status string }{
	{"pod/full", `{"status":{"phase":"Running","podIP":"10.1.2.3","podIPs":[{"ip":"10.1.2.3"},{"ip":"fd00::3"}],"hostIP":"192.0.2.1","hostIPs":[{"ip":"192.0.2.1"}],"startTime":"2024-01-02T03:04:05Z","message":"all is well","reason":"R","conditions":[{"type":"Ready","status":"True"},{"type":"example.com/a","status":"False"}],"initContainerStatuses":[{"name":"setup","image":"i:1","imageID":"i@1","containerID":"c://1","ready":true,"restartCount":0,"state":{"terminated":{"exitCode":0,"reason":"Completed","startedAt":"2024-01-02T03:04:05Z","finishedAt":"2024-01-02T03:04:06Z"}}},{"name":"sidecar","image":"s:1","imageID":"","ready":true,"started":true,"restartCount":1,"state":{"running":{"startedAt":"2024-01-02T03:04:07Z"}}}],"containerStatuses":[{"name":"web","image":"web:1","imageID":"web@1","containerID":"c://2","ready":true,"restartCount":3,"state":{"running":{"startedAt":"2024-07-02T03:04:07Z"}},"lastState":{"terminated":{"exitCode":137,"signal":9,"reason":"OOMKilled","message":"killed","startedAt":"2024-01-02T03:04:05Z","finishedAt":"2024-01-02T03:05:06Z"}}},{"name":"plain","image":"plain:2","imageID":"","ready":false,"restartCount":0,"state":{"waiting":{"reason":"ImagePullBackOff","message":"x"}}}]}}`},
	{"pod/ended", `{"status":{"phase":"Failed","reason":"Evicted","containerStatuses":[{"name":"c","image":"i:1","imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":1}}},{"name":"d","image":"i:1","imageID":"","ready":false,"restartCount":0}]}}`},
	{"pod/small", `{"status":{"phase":"Running","containerStatuses":[{"name":"c","image":"i:1","imageID":"","ready":true,"restartCount":0,"allocatedResources":{"cpu":"300m","memory":"64Mi"},"resources":{"limits":{"cpu":"250m","memory":"64Mi"},"requests":{"cpu":"300m"}}}]}}`},
	{"pod/leaving", `{"status":{"phase":"Running"}}`},
	{"pod/r3", `{"status":{"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}],"containerStatuses":[{"name":"c","image":"i:1","imageID":"","ready":true,"restartCount":0,"allocatedResources":{"cpu":"50m","memory":"64Mi"},"resources":{"limits":{"cpu":"250m"},"requests":{"cpu":"30m"}}}]}}`},
	{"node/describe-1", `{"status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"110","ephemeral-storage":"100G","hugepages-2Mi":"64Mi","example.com/gpu":"2"},"allocatable":{"cpu":"3800m","memory":"7900Mi","pods":"110","ephemeral-storage":"90G","hugepages-2Mi":"64Mi","example.com/gpu":"2"},"addresses":[{"type":"InternalIP","address":"192.0.2.1"},{"type":"Hostname","address":"describe-1"}],"nodeInfo":{"machineID":"m","systemUUID":"u","bootID":"b","kernelVersion":"6.1","osImage":"Debian","containerRuntimeVersion":"containerd://2","kubeletVersion":"v1.37.2","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"},"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2024-01-02T03:04:05Z","lastTransitionTime":"2024-01-02T03:04:05Z","reason":"KubeletReady","message":"kubelet is posting"},{"type":"DiskPressure","status":"False","lastHeartbeatTime":"2024-01-02T03:04:05Z","reason":"x","message":"y"}]}}`},
	{"node/describe-2", `{"status":{"capacity":{"cpu":"4","memory":"16294152Ki","ephemeral-storage":"1Gi","hugepages-2Mi":"1Gi","hugepages-1Gi":"0","example.com/a":"1","pods":"10","example.com/gpu":"4"}}}`},
	{"service/balanced", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.20","ipMode":"VIP"},{"hostname":"b.example.com"}]}}}`},
	{"deployment/web", `{"status":{"replicas":4,"updatedReplicas":2,"readyReplicas":3,"availableReplicas":3,"unavailableReplicas":1,"conditions":[{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated","lastUpdateTime":"2024-01-02T03:04:05Z","lastTransitionTime":"2024-01-02T03:04:05Z","message":"m"}]}}`},
}

// described are arguments of describe in the namespace describe, for which both programs print the same.
var described = []string{
	"pod full",
	"pod waits",
	"pod ended",
	"pod small",
	"pod leaving",
	"pod r1",
	"pod r2",
	"pod r3",
	"pods",
	"pods -l app=web",
	"pods e",
	"pods s --show-events",
	"pods nix",
	"pods small nix",
	"pods/small pods/nix chairs/big",
	"pods small --show-events=false",
	"node describe-1",
	"node describe-2",
	"nodes",
	"nodes describe",
	"nodes nope",
	"deployment web",
	"deployment bare",
	"deployments",
	"service plain",
	"service headless",
	"service elsewhere",
	"service balanced",
	"service on-nodes",
	"services",
	"services -A",
	"deployments,services,pods,chairs",
	"svc/plain pod/small",
	"chair big",
	"chairs -A",
	"chairs -n default",
	"lease lease",
	"configmap m",
	"secret s",
	"secrets,configmaps",
	"cm/m secret/s --show-events",
	"crd chairs.furniture.example.com",
	"node describe-1 --as bob",
	"deployment web --as bob",
	"service plain --as bob",
	"node nope --as bob",
}

func describeObjects(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	stage := lineStage{h: h, k: h.kubectl(s), dir: filepath.Join(h.caseDir, "describe"), kubeconfig: s.file("kubeconfig-admin")}
	if err := errors.Join(os.MkdirAll(stage.dir, 0o700), makeDescribed(ctx, stage.k)); err != nil {
		return err
	}
	var differences []string
	for _, words := range described {
		difference, err := stage.difference(ctx, commandLine{text: "describe " + words})
		if err != nil {
			return fmt.Errorf("describe %s: %w", words, err)
		}
		if difference != "" {
			differences = append(differences, words+": "+difference)
		}
	}
	return report("output of describe compared with kubectl", differences)
}

// makeDescribed creates the objects in the namespace describe. No controllers run, so it writes their statuses, too.
func makeDescribed(ctx context.Context, k kubectl) error {
	if err := k.runAll(ctx, "create namespace describe", "config set-context --current --namespace=describe"); err != nil {
		return err
	}
	if _, err := k.runInput(ctx, describeDefinition, "create", "-f", "-"); err != nil {
		return err
	}
	if err := k.runAll(ctx, "wait --for=condition=Established crd/chairs.furniture.example.com"); err != nil {
		return err
	}
	for _, text := range []string{describedObjects, describedLease} {
		if _, err := k.runInput(ctx, text, "create", "--validate=false", "-f", "-"); err != nil {
			return err
		}
	}
	for _, s := range describedStatuses {
		if _, err := k.run(ctx, "patch", s.object, "--subresource=status", "--type=merge", "-p", s.status); err != nil {
			return err
		}
	}
	uid, err := k.run(ctx, "get", "pod", "small", "-o", "jsonpath={.metadata.uid}")
	if err != nil {
		return err
	}
	if _, err := k.runInput(ctx, strings.ReplaceAll(describedEvents, "UID", uid), "create", "-f", "-"); err != nil {
		return err
	}
	return errors.Join(makeReplicaSets(ctx, k), k.runAll(ctx, "delete pod leaving --wait=false"))
}

// makeReplicaSets creates the replica sets of the deployment web: two old ones, its present one, and one that it does not control.
func makeReplicaSets(ctx context.Context, k kubectl) error {
	out, err := k.run(ctx, "get", "deployment", "web", "-o", "json")
	if err != nil {
		return err
	}
	for _, set := range []struct {
		name, image string
		replicas    int
		controls    bool
	}{{"web-1", "old", 0, true}, {"web-2", "i:1", 2, true}, {"web-3", "older", 1, true}, {"web-4", "i:1", 1, false}} {
		var deployment struct {
			Metadata struct {
				UID string `json:"uid"`
			} `json:"metadata"`
			Spec struct {
				Template object `json:"template"`
			} `json:"spec"`
		}
		if err := json.Unmarshal([]byte(out), &deployment); err != nil {
			return err
		}
		template := deployment.Spec.Template
		labels := template["metadata"].(object)["labels"].(object)
		labels["pod-template-hash"] = set.name
		template["spec"].(object)["containers"].([]any)[0].(object)["image"] = set.image
		text, err := json.Marshal(object{"apiVersion": "apps/v1", "kind": "ReplicaSet",
			"metadata": object{"name": set.name, "labels": labels, "ownerReferences": []any{object{"apiVersion": "apps/v1",
				"kind": "Deployment", "name": "web", "uid": deployment.Metadata.UID, "controller": set.controls}}},
			"spec": object{"replicas": set.replicas, "selector": object{"matchLabels": labels}, "template": template}})
		if err != nil {
			return err
		}
		if _, err := k.runInput(ctx, string(text), "create", "-f", "-"); err != nil {
			return err
		}
	}
	return nil
}
