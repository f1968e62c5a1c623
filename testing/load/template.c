/* template.c: see template.h. */
#include "testing/load/template.h"

/* clang-format off */

static const char pod_head[] =
"{'metadata':{'name':'`n','generateName':'`w-`h-','namespace':'`s',"
"'labels':{'app.kubernetes.io/component':'server','app.kubernetes.io/instance':'`w',"
"'app.kubernetes.io/managed-by':'Helm',"
"'app.kubernetes.io/name':'`a','app.kubernetes.io/part-of':'`s-platform','app.kubernetes.io/version':'`v',"
"'pod-template-hash':'`h'},"
"'annotations':{'checksum/config':'4f1c`h8be27ad0`h',"
"'cni.projectcalico.org/podIP':'`I/32',"
"'prometheus.io/path':'/metrics','prometheus.io/port':'`p','prometheus.io/scrape':'true'";

static const char pod_stamp[] = ",'`S':'`T'";

static const char pod_deleting[] = "'deletionTimestamp':'`r','deletionGracePeriodSeconds':30,";

static const char pod_managed[] =
",'managedFields':["
"{'manager':'kube-controller-manager','operation':'Update','apiVersion':'v1','time':'`t','fieldsType':'FieldsV1',"
"'fieldsV1':{"
"'f:metadata':{'f:annotations':{'.':{},'f:checksum/config':{},'f:prometheus.io/path':{},'f:prometheus.io/port':{},"
"'f:prometheus.io/scrape':{}},'f:generateName':{},'f:labels':{'.':{},'f:app.kubernetes.io/component':{},"
"'f:app.kubernetes.io/instance':{},'f:app.kubernetes.io/managed-by':{},'f:app.kubernetes.io/name':{},"
"'f:app.kubernetes.io/part-of':{},'f:app.kubernetes.io/version':{},'f:pod-template-hash':{}},"
"'f:ownerReferences':{'.':{},'k:{\\'uid\\':\\'`u\\'}':{}}},"
"'f:spec':{'f:containers':{"
"'k:{\\'name\\':\\'`a\\'}':{'.':{},'f:args':{},'f:command':{},'f:env':{'.':{},"
"'k:{\\'name\\':\\'CONFIG_PATH\\'}':{'.':{},'f:name':{},'f:value':{}},"
"'k:{\\'name\\':\\'DATABASE_URL\\'}':{'.':{},'f:name':{},'f:valueFrom':{'.':{},'f:secretKeyRef':{}}},"
"'k:{\\'name\\':\\'LOG_LEVEL\\'}':{'.':{},'f:name':{},'f:value':{}},"
"'k:{\\'name\\':\\'OTEL_ENDPOINT\\'}':{'.':{},'f:name':{},'f:value':{}},"
"'k:{\\'name\\':\\'POD_IP\\'}':{'.':{},'f:name':{},'f:valueFrom':{'.':{},'f:fieldRef':{}}},"
"'k:{\\'name\\':\\'POD_NAME\\'}':{'.':{},'f:name':{},'f:valueFrom':{'.':{},'f:fieldRef':{}}}},"
"'f:image':{},'f:imagePullPolicy':{},'f:livenessProbe':{'.':{},'f:failureThreshold':{},'f:httpGet':{'.':{},'f:path':{},"
"'f:port':{},'f:scheme':{}},'f:initialDelaySeconds':{},'f:periodSeconds':{}},"
"'f:name':{},'f:ports':{'.':{},'k:{\\'containerPort\\':`p,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:containerPort':{},"
"'f:name':{},"
"'f:protocol':{}}},'f:readinessProbe':{'.':{},'f:failureThreshold':{},'f:httpGet':{'.':{},'f:path':{},'f:port':{},"
"'f:scheme':{}},'f:periodSeconds':{}},'f:resources':{'.':{},"
"'f:limits':{'.':{},'f:cpu':{},'f:memory':{}},'f:requests':{'.':{},'f:cpu':{},'f:memory':{}}},"
"'f:terminationMessagePath':{},'f:terminationMessagePolicy':{},'f:volumeMounts':{'.':{},"
"'k:{\\'mountPath\\':\\'/etc/config\\'}':{'.':{},'f:mountPath':{},'f:name':{},'f:readOnly':{}},"
"'k:{\\'mountPath\\':\\'/tmp\\'}':{'.':{},'f:mountPath':{},'f:name':{}}}},"
"'k:{\\'name\\':\\'proxy\\'}':{'.':{},'f:image':{},'f:imagePullPolicy':{},'f:name':{},"
"'f:terminationMessagePath':{},'f:terminationMessagePolicy':{}}},'f:dnsPolicy':{},'f:enableServiceLinks':{},"
"'f:restartPolicy':{},'f:schedulerName':{},'f:securityContext':{'.':{},'f:fsGroup':{},'f:runAsUser':{}},"
"'f:serviceAccount':{},'f:serviceAccountName':{},'f:terminationGracePeriodSeconds':{},'f:volumes':{'.':{},"
"'k:{\\'name\\':\\'config\\'}':{'.':{},'f:configMap':{'.':{},'f:defaultMode':{},'f:name':{}},'f:name':{}},"
"'k:{\\'name\\':\\'tmp\\'}':{'.':{},'f:emptyDir':{},'f:name':{}}}}}},"
"`m]";

static const char pod_managed_status[] =
"{'manager':'calico','operation':'Update','apiVersion':'v1','time':'`t','fieldsType':'FieldsV1',"
"'fieldsV1':{'f:metadata':{"
"'f:annotations':{'f:cni.projectcalico.org/podIP':{}}}},'subresource':'status'},"
"{'manager':'kubelet','operation':'Update','apiVersion':'v1','time':'`r','fieldsType':'FieldsV1',"
"'fieldsV1':{'f:status':{"
"'f:conditions':{'k:{\\'type\\':\\'ContainersReady\\'}':{'.':{},'f:lastProbeTime':{},'f:lastTransitionTime':{},"
"'f:status':{},"
"'f:type':{}},'k:{\\'type\\':\\'Initialized\\'}':{'.':{},'f:lastProbeTime':{},'f:lastTransitionTime':{},'f:status':{},"
"'f:type':{}},'k:{\\'type\\':\\'Ready\\'}':{'.':{},'f:lastProbeTime':{},'f:lastTransitionTime':{},'f:status':{},"
"'f:type':{}}},"
"'f:containerStatuses':{},'f:hostIP':{},'f:phase':{},'f:podIP':{},'f:podIPs':{'.':{},'k:{\\'ip\\':\\'`I\\'}':{'.':{},"
"'f:ip':{}}},"
"'f:startTime':{}}},'subresource':'status'}";

static const char pod_middle[] =
"'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'`w-`h','uid':'`u','controller':true,"
"'blockOwnerDeletion':true}]`M},"
"'spec':{'volumes':[{'name':'config','configMap':{'name':'`w-config','defaultMode':420}},{'name':'tmp','emptyDir':{}},"
"{'name':'kube-api-access-`x','projected':{'sources':[{'serviceAccountToken':{'expirationSeconds':3607,"
"'path':'token'}},"
"{'configMap':{'name':'kube-root-ca.crt','items':[{'key':'ca.crt','path':'ca.crt'}]}},"
"{'downwardAPI':{'items':[{'path':'namespace','fieldRef':{'apiVersion':'v1','fieldPath':'metadata.namespace'}}]}}],"
"'defaultMode':420}}],"
"'containers':[{'name':'`a','image':'`i:`v','command':['/usr/local/bin/`a'],'args':['serve',"
"'--config=/etc/config/`a.yaml',"
"'--listen=0.0.0.0:`p'],'ports':[{'name':'http','containerPort':`p,'protocol':'TCP'}],"
"'env':[{'name':'POD_NAME','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'metadata.name'}}},"
"{'name':'POD_IP','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'status.podIP'}}},"
""
"{'name':'LOG_LEVEL','value':'info'},{'name':'CONFIG_PATH','value':'/etc/config/`a.yaml'},"
"{'name':'DATABASE_URL','valueFrom':{'secretKeyRef':{'name':'`w-database','key':'url'}}},"
"{'name':'OTEL_ENDPOINT','value':'http://otel-collector.monitoring:4317'}],"
"'resources':{'limits':{'cpu':'2','memory':'1Gi'},'requests':{'cpu':'250m','memory':'512Mi'}},"
"'volumeMounts':[{'name':'config','readOnly':true,'mountPath':'/etc/config'},{'name':'tmp','mountPath':'/tmp'},"
"{'name':'kube-api-access-`x','readOnly':true,'mountPath':'/var/run/secrets/kubernetes.io/serviceaccount'}],"
"'livenessProbe':{'httpGet':{'path':'/healthz','port':'http','scheme':'HTTP'},'initialDelaySeconds':10,"
"'timeoutSeconds':2,"
"'periodSeconds':10,'failureThreshold':3},"
"'readinessProbe':{'httpGet':{'path':'/readyz','port':'http','scheme':'HTTP'},'timeoutSeconds':2,'periodSeconds':5,"
"'failureThreshold':3},"
"'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File','imagePullPolicy':'IfNotPresent',"
"'securityContext':{'runAsNonRoot':true,'allowPrivilegeEscalation':false}},"
"{'name':'proxy','image':'registry.example.com/mesh/proxy:1.24.3','resources':{'limits':{'cpu':'500m',"
"'memory':'256Mi'},'requests':{'cpu':'50m','memory':'64Mi'}},"
"'volumeMounts':[{'name':'kube-api-access-`x','readOnly':true,"
"'mountPath':'/var/run/secrets/kubernetes.io/serviceaccount'}],"
"'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File','imagePullPolicy':'IfNotPresent'}],"
"'restartPolicy':'Always','terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst','serviceAccountName':'`w',"
"'serviceAccount':'`w','securityContext':{'runAsUser':10001,'fsGroup':10001},"
"'schedulerName':'default-scheduler',"
"'tolerations':[{'key':'node.kubernetes.io/not-ready','operator':'Exists','effect':'NoExecute',"
"'tolerationSeconds':300},"
"{'key':'node.kubernetes.io/unreachable','operator':'Exists','effect':'NoExecute','tolerationSeconds':300}],"
"'priority':0,'enableServiceLinks':true,'preemptionPolicy':'PreemptLowerPriority'";

static const char pod_node[] = ",'nodeName':'`o'";

static const char pod_pending[] = "},'status':{'phase':'Pending','qosClass':'Burstable'}}";

static const char pod_scheduled[] =
"},'status':{'phase':'Pending','conditions':["
"{'type':'PodScheduled','status':'True','lastProbeTime':null,'lastTransitionTime':'`t'}],'qosClass':'Burstable'}}";

static const char pod_starting[] =
"},'status':{'phase':'Pending','conditions':["
"{'type':'Initialized','status':'True','lastProbeTime':null,'lastTransitionTime':'`t'},"
"{'type':'Ready','status':'False','lastProbeTime':null,'lastTransitionTime':'`t','reason':'ContainersNotReady',"
"'message':'containers with unready status: [`a proxy]'},"
"{'type':'ContainersReady','status':'False','lastProbeTime':null,'lastTransitionTime':'`t',"
"'reason':'ContainersNotReady',"
"'message':'containers with unready status: [`a proxy]'},"
"{'type':'PodScheduled','status':'True','lastProbeTime':null,'lastTransitionTime':'`t'}],"
"'hostIP':'`H','startTime':'`t','containerStatuses':["
"{'name':'`a','state':{'waiting':{'reason':'ContainerCreating'}},'lastState':{},'ready':false,'restartCount':0,"
"'image':'`i:`v',"
"'imageID':'','started':false},"
"{'name':'proxy','state':{'waiting':{'reason':'ContainerCreating'}},'lastState':{},'ready':false,'restartCount':0,"
"'image':'registry.example.com/mesh/proxy:1.24.3','imageID':'','started':false}],'qosClass':'Burstable'}}";

static const char pod_running[] =
"},'status':{'phase':'Running','conditions':["
"{'type':'Initialized','status':'True','lastProbeTime':null,'lastTransitionTime':'`t'},"
"{'type':'Ready','status':'`k','lastProbeTime':null,'lastTransitionTime':'`r'},"
"{'type':'ContainersReady','status':'`k','lastProbeTime':null,'lastTransitionTime':'`r'},"
"{'type':'PodScheduled','status':'True','lastProbeTime':null,'lastTransitionTime':'`t'}],"
"'hostIP':'`H','podIP':'`I','podIPs':[{'ip':'`I'}],'startTime':'`t','containerStatuses':["
"{'name':'`a','state':{'running':{'startedAt':'`t'}},'lastState':{},'ready':`K,'restartCount':`c,'image':'`i:`v',"
"'imageID':'`i@sha256:91c5`h5e6d3372ff08aa41f057d2c6b94f1c`h8be27ad0e3f7',"
"'containerID':'containerd://`x`y`x`y`x`y`x`y',"
"'started':true},"
"{'name':'proxy','state':{'running':{'startedAt':'`t'}},'lastState':{},'ready':true,'restartCount':0,"
"'image':'registry.example.com/mesh/proxy:1.24.3','imageID':'registry.example.com/mesh/proxy@sha256:"
"0c8be27ad09f3b3372ff08aa41f057d2c6b94f1c91c55e6d0c8be27ad09f3b33','containerID':'containerd://`x`z`x`z`x`z`x`z',"
"'started':true}],'qosClass':'Burstable'}}";

static const char node[] =
"{'metadata':{'name':'`o','labels':{'beta.kubernetes.io/arch':'amd64','beta.kubernetes.io/os':'linux',"
"'kubernetes.io/arch':'amd64','kubernetes.io/hostname':'`o','kubernetes.io/os':'linux',"
"'node.kubernetes.io/instance-type':'m6i.4xlarge',"
"'topology.kubernetes.io/region':'eu-central-1','topology.kubernetes.io/zone':'eu-central-1a'},"
"'annotations':{'load.kinformer/heartbeats':'`T','node.alpha.kubernetes.io/ttl':'0',"
"'projectcalico.org/IPv4Address':'`H/16',"
"'volumes.kubernetes.io/controller-managed-attach-detach':'true'}},"
"'spec':{'podCIDR':'10.`c.0.0/24','podCIDRs':['10.`c.0.0/24'],'providerID':'aws:///eu-central-1a/i-`x`x'},"
"'status':{'capacity':{'cpu':'16','ephemeral-storage':'103824365Ki','hugepages-1Gi':'0','hugepages-2Mi':'0',"
"'memory':'64780720Ki',"
"'pods':'110'},'allocatable':{'cpu':'15890m','ephemeral-storage':'95551679124','hugepages-1Gi':'0','hugepages-2Mi':'0',"
"'memory':'61838768Ki','pods':'110'},'conditions':["
"{'type':'NetworkUnavailable','status':'False','lastHeartbeatTime':'`t','lastTransitionTime':'`t',"
"'reason':'CalicoIsUp',"
"'message':'Calico is running on this node'},"
"{'type':'MemoryPressure','status':'False','lastHeartbeatTime':'`r','lastTransitionTime':'`t',"
"'reason':'KubeletHasSufficientMemory','message':'kubelet has sufficient memory available'},"
"{'type':'DiskPressure','status':'False','lastHeartbeatTime':'`r','lastTransitionTime':'`t',"
"'reason':'KubeletHasNoDiskPressure',"
"'message':'kubelet has no disk pressure'},"
"{'type':'PIDPressure','status':'False','lastHeartbeatTime':'`r','lastTransitionTime':'`t',"
"'reason':'KubeletHasSufficientPID',"
"'message':'kubelet has sufficient PID available'},"
"{'type':'Ready','status':'True','lastHeartbeatTime':'`r','lastTransitionTime':'`t','reason':'KubeletReady',"
"'message':'kubelet is posting ready status'}],"
"'addresses':[{'type':'InternalIP','address':'`H'},{'type':'Hostname','address':'`o'}],"
"'daemonEndpoints':{'kubeletEndpoint':{'Port':10250}},"
"'nodeInfo':{'machineID':'`x`x`x`x','systemUUID':'`x`x`x`x','bootID':'`x`x`x`x','kernelVersion':'6.1.0-28-cloud-amd64',"
"'osImage':'Debian GNU/Linux 12 (bookworm)','containerRuntimeVersion':'containerd://1.7.24','kubeletVersion':'v1.34.2',"
"'kubeProxyVersion':'','operatingSystem':'linux','architecture':'amd64'}}}";

static const char deployment[] =
"{'metadata':{'name':'`w','namespace':'`s','labels':{'app.kubernetes.io/instance':'`w',"
"'app.kubernetes.io/managed-by':'Helm',"
"'app.kubernetes.io/name':'`a','app.kubernetes.io/version':'`v'},"
"'annotations':{'deployment.kubernetes.io/revision':'1',"
"'meta.helm.sh/release-name':'`w','meta.helm.sh/release-namespace':'`s'}},"
"'spec':{'replicas':`c,'selector':{'matchLabels':{'app.kubernetes.io/instance':'`w','app.kubernetes.io/name':'`a'}},"
"'template':{'metadata':{'labels':{'app.kubernetes.io/instance':'`w','app.kubernetes.io/name':'`a',"
"'app.kubernetes.io/version':'`v'}},"
"'spec':{'containers':[{'name':'`a','image':'`i:`v','ports':[{'name':'http','containerPort':`p,'protocol':'TCP'}],"
"'resources':{}}],"
"'restartPolicy':'Always','serviceAccountName':'`w'}},'strategy':{'type':'RollingUpdate',"
"'rollingUpdate':{'maxUnavailable':'25%',"
"'maxSurge':'25%'}},'revisionHistoryLimit':10,'progressDeadlineSeconds':600},"
"'status':{'observedGeneration':1,'replicas':`c,'updatedReplicas':`c,'readyReplicas':`c,'availableReplicas':`c,"
"'conditions':["
"{'type':'Available','status':'True','lastUpdateTime':'`t','lastTransitionTime':'`t',"
"'reason':'MinimumReplicasAvailable',"
"'message':'Deployment has minimum availability.'},{'type':'Progressing','status':'True','lastUpdateTime':'`t',"
"'lastTransitionTime':'`t','reason':'NewReplicaSetAvailable','message':'ReplicaSet has successfully progressed.'}]}}";

static const char replica_set[] =
"{'metadata':{'name':'`w-`h','namespace':'`s','labels':{'app.kubernetes.io/instance':'`w',"
"'app.kubernetes.io/name':'`a',"
"'app.kubernetes.io/version':'`v','pod-template-hash':'`h'},"
"'annotations':{'deployment.kubernetes.io/desired-replicas':'`c',"
"'deployment.kubernetes.io/revision':'1'},'ownerReferences':[{'apiVersion':'apps/v1','kind':'Deployment','name':'`w',"
"'uid':'`u',"
"'controller':true,'blockOwnerDeletion':true}]},"
"'spec':{'replicas':`c,'selector':{'matchLabels':{'app.kubernetes.io/instance':'`w','pod-template-hash':'`h'}},"
"'template':{'metadata':{'labels':{'app.kubernetes.io/instance':'`w','app.kubernetes.io/name':'`a',"
"'pod-template-hash':'`h'}},"
"'spec':{'containers':[{'name':'`a','image':'`i:`v','resources':{}}],'restartPolicy':'Always'}}},"
"'status':{'replicas':`c,'fullyLabeledReplicas':`c,'readyReplicas':`c,'availableReplicas':`c,'observedGeneration':1}}";

static const char service[] =
"{'metadata':{'name':'`w','namespace':'`s','labels':{'app.kubernetes.io/instance':'`w',"
"'app.kubernetes.io/managed-by':'Helm',"
"'app.kubernetes.io/name':'`a','app.kubernetes.io/version':'`v'},'annotations':{'meta.helm.sh/release-name':'`w',"
"'meta.helm.sh/release-namespace':'`s'}},"
"'spec':{'type':'ClusterIP','clusterIP':'`I','clusterIPs':['`I'],'ipFamilies':['IPv4'],'ipFamilyPolicy':'SingleStack',"
"'internalTrafficPolicy':'Cluster','sessionAffinity':'None','ports':[{'name':'http','port':80,'protocol':'TCP',"
"'targetPort':'http'}],"
"'selector':{'app.kubernetes.io/instance':'`w','app.kubernetes.io/name':'`a'}},'status':{'loadBalancer':{}}}";

static const char slice_head[] =
"{'metadata':{'name':'`n','generateName':'`w-','namespace':'`s','labels':{'app.kubernetes.io/instance':'`w',"
"'app.kubernetes.io/managed-by':'Helm','app.kubernetes.io/name':'`a','app.kubernetes.io/version':'`v',"
"'endpointslice.kubernetes.io/managed-by':'endpointslice-controller.k8s.io','kubernetes.io/service-name':'`w'},"
"'annotations':{'endpoints.kubernetes.io/last-change-trigger-time':'`r'},"
"'ownerReferences':[{'apiVersion':'v1','kind':'Service','name':'`w','uid':'`u','controller':true,"
"'blockOwnerDeletion':true}]},"
"'addressType':'IPv4','ports':[{'name':'http','port':`p,'protocol':'TCP'}],'endpoints':[";

static const char slice_endpoint[] =
"{'addresses':['`I'],'conditions':{'ready':`K,'serving':`K,'terminating':`k},'nodeName':'`o',"
"'targetRef':{'kind':'Pod','namespace':'`s','name':'`n','uid':'`u'},'zone':'eu-central-1a'}";

/* clang-format on */

const char *const kt_load_templates[KT_LOAD_TEMPLATES] = {
    [KT_LOAD_POD_HEAD] = pod_head,
    [KT_LOAD_POD_STAMP] = pod_stamp,
    [KT_LOAD_POD_DELETING] = pod_deleting,
    [KT_LOAD_POD_MIDDLE] = pod_middle,
    [KT_LOAD_POD_MANAGED] = pod_managed,
    [KT_LOAD_POD_MANAGED_STATUS] = pod_managed_status,
    [KT_LOAD_POD_NODE] = pod_node,
    [KT_LOAD_POD_PENDING] = pod_pending,
    [KT_LOAD_POD_SCHEDULED] = pod_scheduled,
    [KT_LOAD_POD_STARTING] = pod_starting,
    [KT_LOAD_POD_RUNNING] = pod_running,
    [KT_LOAD_NODE] = node,
    [KT_LOAD_DEPLOYMENT] = deployment,
    [KT_LOAD_REPLICA_SET] = replica_set,
    [KT_LOAD_SERVICE] = service,
    [KT_LOAD_SLICE_HEAD] = slice_head,
    [KT_LOAD_SLICE_ENDPOINT] = slice_endpoint,
};
