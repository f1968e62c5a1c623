/* template.c: see template.h. */
#include "testing/load/template.h"

/* clang-format off */

#define OWNER(version, kind, name) \
",'ownerReferences':[{'apiVersion':'" version "','kind':'" kind "','name':'" name "','uid':'`u','controller':true," \
"'blockOwnerDeletion':true}]"

#define JOB_LABELS \
",'batch.kubernetes.io/controller-uid':'`u','batch.kubernetes.io/job-name':'`j','controller-uid':'`u','job-name':'`j'"

#define STATEFUL_LABELS \
",'apps.kubernetes.io/pod-index':'`k','controller-revision-hash':'`w-`h','statefulset.kubernetes.io/pod-name':'`n'"

static const char labels_helm[] =
"'app':'`w','app.kubernetes.io/component':'server','app.kubernetes.io/instance':'`w',"
"'app.kubernetes.io/managed-by':'Helm','app.kubernetes.io/name':'`a',"
"'app.kubernetes.io/part-of':'`s-platform','app.kubernetes.io/version':'`v',"
"'helm.sh/chart':'`a-`v'";

static const char labels_plain[] = "'app':'`w','team':'`s'";

static const char annotations[] =
",'checksum/config':'`g','prometheus.io/path':'/metrics','prometheus.io/port':'`p','prometheus.io/scrape':'true'";

/* What Calico writes once the sandbox has a network. */
static const char annotations_network[] =
",'cni.projectcalico.org/containerID':'`4','cni.projectcalico.org/podIP':'`I/32',"
"'cni.projectcalico.org/podIPs':'`I/32,`J/128'";

/* What Istio's injector writes: 1.5 KB. */
static const char annotations_mesh[] =
",'istio.io/rev':'default','proxy.istio.io/overrides':'{\\'containers\\':[{\\'name\\':\\'istio-proxy\\',"
"\\'image\\':\\'registry.example.com/mesh/proxyv2:1.27.3\\',\\'args\\':[\\'proxy\\',\\'sidecar\\',\\'--domain\\',"
"\\'$(POD_NAMESPACE).svc.cluster.local\\',\\'--proxyLogLevel=warning\\',\\'--proxyComponentLogLevel=misc:error\\',"
"\\'--log_output_level=default:info\\'],\\'env\\':[{\\'name\\':\\'PILOT_CERT_PROVIDER\\',\\'value\\':\\'istiod\\'},"
"{\\'name\\':\\'CA_ADDR\\',\\'value\\':\\'istiod.istio-system.svc:15012\\'},{\\'name\\':\\'ISTIO_META_MESH_ID\\',"
"\\'value\\':\\'cluster.local\\'},{\\'name\\':\\'ISTIO_META_APP_CONTAINERS\\',\\'value\\':\\'`a\\'},"
"{\\'name\\':\\'ISTIO_META_WORKLOAD_NAME\\',\\'value\\':\\'`w\\'},{\\'name\\':\\'ISTIO_META_OWNER\\',"
"\\'value\\':\\'kubernetes://apis/apps/v1/namespaces/`s/deployments/`w\\'}],\\'resources\\':{\\'limits\\':"
"{\\'cpu\\':\\'2\\',\\'memory\\':\\'1Gi\\'},\\'requests\\':{\\'cpu\\':\\'100m\\',\\'memory\\':\\'128Mi\\'}}}]}',"
"'sidecar.istio.io/status':'{\\'initContainers\\':[\\'istio-init\\'],\\'containers\\':[\\'istio-proxy\\'],"
"\\'volumes\\':[\\'workload-socket\\',\\'credential-socket\\',\\'workload-certs\\',\\'istio-envoy\\',\\'istio-data\\',"
"\\'istio-podinfo\\',\\'istio-token\\',\\'istiod-ca-cert\\'],\\'imagePullSecrets\\':null,"
"\\'revision\\':\\'default\\'}'";

#define METADATA "'metadata':{'name':'`n',`b'namespace':'`s','labels':{`l`q`L}," \
                 "'annotations':{'kubectl.kubernetes.io/default-container':'`a'`9`N}`d`r`M},"

/* `+ volumes, `- account, `= security context */
#define SPEC \
"'spec':{'volumes':[`+`*`B],`6'containers':[`5],'restartPolicy':'`f','terminationGracePeriodSeconds':30," \
"'dnsPolicy':'ClusterFirst','serviceAccountName':'`-','serviceAccount':'`-','securityContext':{`=},"

static const char pod[] = METADATA SPEC;

static const char volumes[] =
"{'name':'config','configMap':{'name':'`w-config','defaultMode':420}},{'name':'tmp','emptyDir':{}}";

static const char volumes_small[] = "{'name':'data','emptyDir':{}}";

static const char security[] =
"'runAsUser':10001,'runAsGroup':10001,'fsGroup':10001,'seccompProfile':{'type':'RuntimeDefault'}";

/* The end of the spec: what its owner writes, and what the API server adds to it. */
static const char pod_end[] = "'schedulerName':'default-scheduler','enableServiceLinks':true";

static const char pod_added[] =
",'tolerations':["
"{'key':'node.kubernetes.io/not-ready','operator':'Exists','effect':'NoExecute','tolerationSeconds':300},"
"{'key':'node.kubernetes.io/unreachable','operator':'Exists','effect':'NoExecute','tolerationSeconds':300}],"
"'priority':0,'preemptionPolicy':'PreemptLowerPriority'";

static const char daemon_end[] =
"'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchFields':["
"{'key':'metadata.name','operator':'In','values':['`o']}]}]}}},'schedulerName':'default-scheduler','tolerations':["
"{'operator':'Exists'},{'key':'node.kubernetes.io/not-ready','operator':'Exists','effect':'NoExecute'},"
"{'key':'node.kubernetes.io/unreachable','operator':'Exists','effect':'NoExecute'},"
"{'key':'node.kubernetes.io/disk-pressure','operator':'Exists','effect':'NoSchedule'},"
"{'key':'node.kubernetes.io/memory-pressure','operator':'Exists','effect':'NoSchedule'},"
"{'key':'node.kubernetes.io/pid-pressure','operator':'Exists','effect':'NoSchedule'},"
"{'key':'node.kubernetes.io/unschedulable','operator':'Exists','effect':'NoSchedule'}],"
"'priorityClassName':'system-node-critical','enableServiceLinks':true";

static const char daemon_added[] = ",'priority':2000001000,'preemptionPolicy':'PreemptLowerPriority'";

static const char stateful_end[] =
"'hostname':'`n','subdomain':'`w','schedulerName':'default-scheduler','enableServiceLinks':true";

static const char stateful_volume[] = ",{'name':'claim','persistentVolumeClaim':{'claimName':'claim-`n'}}";

static const char topology[] =
",'topology.kubernetes.io/region':'eu-central-1','topology.kubernetes.io/zone':'eu-central-1`/'";

static const char pod_node[] = ",'nodeName':'`o'";

static const char token_mount[] =
",{'name':'kube-api-access-`x','readOnly':true,'mountPath':'/var/run/secrets/kubernetes.io/serviceaccount'}";

static const char token_volume[] =
",{'name':'kube-api-access-`x','projected':{'sources':[{'serviceAccountToken':{'expirationSeconds':3607,"
"'path':'token'}},"
"{'configMap':{'name':'kube-root-ca.crt','items':[{'key':'ca.crt','path':'ca.crt'}]}},"
"{'downwardAPI':{'items':[{'path':'namespace','fieldRef':{'apiVersion':'v1','fieldPath':'metadata.namespace'}}]}}],"
"'defaultMode':420}}";

#define TERMINATION "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File'," \
                    "'imagePullPolicy':'IfNotPresent'"

static const char container[] =
"{'name':'`a','image':'`i:`v','command':['/usr/local/bin/`a'],'args':['serve','--config=/etc/config/`a.yaml',"
"'--listen=0.0.0.0:`p'],'ports':[{'name':'http','containerPort':`p,'protocol':'TCP'}],"
"'env':[{'name':'POD_NAME','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'metadata.name'}}},"
"{'name':'POD_IP','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'status.podIP'}}},"
"{'name':'LOG_LEVEL','value':'info'},{'name':'CONFIG_PATH','value':'/etc/config/`a.yaml'},"
"{'name':'DATABASE_URL','valueFrom':{'secretKeyRef':{'name':'`w-database','key':'url'}}},"
"{'name':'OTEL_ENDPOINT','value':'http://otel-collector.monitoring:4317'}`8],"
"'resources':{'limits':{'cpu':'2','memory':'1Gi'},'requests':{'cpu':'250m','memory':'512Mi'}},"
"'volumeMounts':[{'name':'config','readOnly':true,'mountPath':'/etc/config'},{'name':'tmp','mountPath':'/tmp'}`A],"
"'livenessProbe':{'httpGet':{'path':'/healthz','port':'http','scheme':'HTTP'},'initialDelaySeconds':10,"
"'timeoutSeconds':2,'periodSeconds':10,'successThreshold':1,'failureThreshold':3},"
"'readinessProbe':{'httpGet':{'path':'/readyz','port':'http','scheme':'HTTP'},'timeoutSeconds':2,'periodSeconds':5,"
"'successThreshold':1,'failureThreshold':3},"
TERMINATION ",'securityContext':{'capabilities':{'drop':['ALL']},'runAsNonRoot':true,'readOnlyRootFilesystem':true,"
"'allowPrivilegeEscalation':false}}";

static const char container_small[] =
"{'name':'`a','image':'`i:`v','resources':{},'volumeMounts':[{'name':'data','mountPath':'/data'}`A]," TERMINATION "}";

static const char container_mesh[] =
",{'name':'istio-proxy','image':'registry.example.com/mesh/proxyv2:1.27.3','args':['proxy','sidecar','--domain',"
"'$(POD_NAMESPACE).svc.cluster.local','--proxyLogLevel=warning','--proxyComponentLogLevel=misc:error',"
"'--log_output_level=default:info'],'ports':[{'name':'http-envoy-prom','containerPort':15090,'protocol':'TCP'}],"
"'env':[{'name':'PILOT_CERT_PROVIDER','value':'istiod'},{'name':'CA_ADDR','value':'istiod.istio-system.svc:15012'},"
"{'name':'POD_NAME','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'metadata.name'}}},"
"{'name':'POD_NAMESPACE','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'metadata.namespace'}}},"
"{'name':'INSTANCE_IP','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'status.podIP'}}},"
"{'name':'HOST_IP','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'status.hostIP'}}},"
"{'name':'ISTIO_CPU_LIMIT','valueFrom':{'resourceFieldRef':{'resource':'limits.cpu','divisor':'0'}}},"
"{'name':'ISTIO_META_APP_CONTAINERS','value':'`a'},{'name':'ISTIO_META_WORKLOAD_NAME','value':'`w'},"
"{'name':'ISTIO_META_MESH_ID','value':'cluster.local'},{'name':'TRUST_DOMAIN','value':'cluster.local'}],"
"'resources':{'limits':{'cpu':'2','memory':'1Gi'},'requests':{'cpu':'100m','memory':'128Mi'}},'volumeMounts':["
"{'name':'tmp','mountPath':'/etc/istio/proxy'}`A],"
"'readinessProbe':{'httpGet':{'path':'/healthz/ready','port':15021,'scheme':'HTTP'},'timeoutSeconds':3,"
"'periodSeconds':15,'successThreshold':1,'failureThreshold':4},"
TERMINATION ",'securityContext':{'capabilities':{'drop':['ALL']},'privileged':false,'runAsUser':1337,'runAsGroup':1337,"
"'runAsNonRoot':true,'readOnlyRootFilesystem':true,'allowPrivilegeEscalation':false}}";

static const char container_init[] =
"'initContainers':[{'name':'migrate','image':'`i:`v','command':['/usr/local/bin/`a','migrate'],"
"'env':[{'name':'DATABASE_URL','valueFrom':{'secretKeyRef':{'name':'`w-database','key':'url'}}}],"
"'resources':{'limits':{'memory':'256Mi'},'requests':{'cpu':'50m','memory':'128Mi'}},'volumeMounts':["
"{'name':'config','readOnly':true,'mountPath':'/etc/config'}`A]," TERMINATION "}],";

static const char variable[] = ",{'name':'`1','value':'`2'}";

/* ---- status ---- */

static const char condition[] =
"{'type':'`1','observedGeneration':1,'status':'`2','lastProbeTime':null,'lastTransitionTime':'`3'`0}";

static const char evicted[] =
",'message':'The node was low on resource: ephemeral-storage. Threshold quantity: 10433147292, available: 9912324Ki. "
"Container `a was using 5102412Ki, request is 0, has larger consumption of ephemeral-storage. ','reason':'Evicted'";

static const char host_addresses[] = ",'hostIP':'`H','hostIPs':[{'ip':'`H'},{'ip':'`F'}]";

static const char pod_addresses[] = ",'podIP':'`I','podIPs':[{'ip':'`I'},{'ip':'`J'}]";

static const char container_status[] =
"{'name':'`C','state':{`Y},'lastState':{`Z},'ready':`K,'restartCount':`y,'image':'`E','imageID':'`G'`D,'started':`z`R}";

/* What a container has once it ran: its resources, mounts and user. */
#define RAN(resources, mounts, user) \
resources ",'volumeMounts':[" mounts ",{'name':'kube-api-access-`x'," \
"'mountPath':'/var/run/secrets/kubernetes.io/serviceaccount','readOnly':true,'recursiveReadOnly':'Disabled'}]," \
"'user':{'linux':{'uid':" user ",'gid':" user ",'supplementalGroups':[" user "]}}"

#define CONFIG_MOUNT "{'name':'config','mountPath':'/etc/config','readOnly':true,'recursiveReadOnly':'Disabled'}"

static const char ran[] =
RAN(",'allocatedResources':{'cpu':'250m','memory':'512Mi'},'resources':{'limits':{'cpu':'2','memory':'1Gi'},"
    "'requests':{'cpu':'250m','memory':'512Mi'}}", CONFIG_MOUNT ",{'name':'tmp','mountPath':'/tmp'}", "10001");

static const char ran_small[] = RAN(",'resources':{}", "{'name':'data','mountPath':'/data'}", "0");

static const char ran_mesh[] =
RAN(",'allocatedResources':{'cpu':'100m','memory':'128Mi'},'resources':{'limits':{'cpu':'2','memory':'1Gi'},"
    "'requests':{'cpu':'100m','memory':'128Mi'}}", "{'name':'tmp','mountPath':'/etc/istio/proxy'}", "1337");

static const char ran_init[] =
RAN(",'allocatedResources':{'cpu':'50m','memory':'128Mi'},'resources':{'limits':{'memory':'256Mi'},"
    "'requests':{'cpu':'50m','memory':'128Mi'}}", CONFIG_MOUNT, "10001");

static const char waiting[] = "'waiting':{'reason':'`1'`0}";

static const char running[] = "'running':{'startedAt':'`3'}";

static const char terminated[] =
"'terminated':{'exitCode':`7,'reason':'`U','startedAt':'`T','finishedAt':'`V','containerID':'containerd://`X'}";

/* ---- owners ---- */

#define OWNED_METADATA(name, labels, annotations) \
"'metadata':{'name':'" name "','namespace':'`s','labels':{`l" labels "},'annotations':{" annotations \
"'meta.helm.sh/release-name':'`w','meta.helm.sh/release-namespace':'`s'}"

#define POD_TEMPLATE(more) \
"'template':{'metadata':{'labels':{`l`q},'annotations':{'kubectl.kubernetes.io/default-container':'`a'`9}}," SPEC \
"'schedulerName':'default-scheduler'" more "}}"

static const char deployment[] =
OWNED_METADATA("`w", "", "'deployment.kubernetes.io/revision':'1',") "`M},"
"'spec':{'replicas':`c,'selector':{'matchLabels':{`l}}," POD_TEMPLATE("") ",'strategy':{'type':'RollingUpdate',"
"'rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}},'revisionHistoryLimit':10,'progressDeadlineSeconds':600}";

static const char deployment_status[] =
"'status':{'observedGeneration':1,'replicas':`c,'updatedReplicas':`c,'readyReplicas':`c,'availableReplicas':`c,"
"'conditions':[{'type':'Progressing','status':'True','lastUpdateTime':'`3','lastTransitionTime':'`t',"
"'reason':'NewReplicaSetAvailable','message':'ReplicaSet \\'`w-`h\\' has successfully progressed.'},"
"{'type':'Available','status':'True','lastUpdateTime':'`3','lastTransitionTime':'`3',"
"'reason':'MinimumReplicasAvailable','message':'Deployment has minimum availability.'}]}";

static const char replica_set[] =
OWNED_METADATA("`w-`h", ",'pod-template-hash':'`h'",
               "'deployment.kubernetes.io/desired-replicas':'`c','deployment.kubernetes.io/max-replicas':'`c',"
               "'deployment.kubernetes.io/revision':'1',")
OWNER("apps/v1", "Deployment", "`w") "`M},"
"'spec':{'replicas':`c,'selector':{'matchLabels':{`l,'pod-template-hash':'`h'}}," POD_TEMPLATE("") "}";

static const char replica_set_status[] =
"'status':{'replicas':`c,'fullyLabeledReplicas':`c,'readyReplicas':`c,'availableReplicas':`c,'observedGeneration':1}";

static const char stateful_set[] =
OWNED_METADATA("`w", "", "") "`M},"
"'spec':{'replicas':`c,'selector':{'matchLabels':{`l}}," POD_TEMPLATE("") ",'volumeClaimTemplates':[{'apiVersion':'v1',"
"'kind':'PersistentVolumeClaim','metadata':{'name':'claim'},'spec':{'accessModes':['ReadWriteOnce'],"
"'resources':{'requests':{'storage':'50Gi'}},'storageClassName':'gp3','volumeMode':'Filesystem'},"
"'status':{'phase':'Pending'}}],'serviceName':'`w','podManagementPolicy':'OrderedReady','updateStrategy':{"
"'type':'RollingUpdate','rollingUpdate':{'partition':0}},'revisionHistoryLimit':10,"
"'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Retain','whenScaled':'Retain'}}";

static const char stateful_set_status[] =
"'status':{'observedGeneration':1,'replicas':`c,'readyReplicas':`c,'currentReplicas':`c,'updatedReplicas':`c,"
"'currentRevision':'`w-`h','updateRevision':'`w-`h','collisionCount':0,'availableReplicas':`c}";

static const char daemon_set[] =
OWNED_METADATA("`w", "", "'deprecated.daemonset.template.generation':'1',") "`M},"
"'spec':{'selector':{'matchLabels':{`l}}," POD_TEMPLATE(",'tolerations':[{'operator':'Exists'}],"
"'priorityClassName':'system-node-critical'") ",'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{"
"'maxUnavailable':1,'maxSurge':0}},'revisionHistoryLimit':10}";

static const char daemon_set_status[] =
"'status':{'currentNumberScheduled':`c,'numberMisscheduled':0,'desiredNumberScheduled':`c,'numberReady':`c,"
"'observedGeneration':1,'updatedNumberScheduled':`c,'numberAvailable':`c}";

/* k completions, 7 the minute. */
#define JOB_SPEC(completions) \
"'spec':{'parallelism':" completions ",'completions':" completions ",'backoffLimit':6,"

static const char cron_job[] =
OWNED_METADATA("`w", "", "") "`M},"
"'spec':{'schedule':'`7 * * * *','concurrencyPolicy':'Forbid','suspend':false,'jobTemplate':{'metadata':{},"
JOB_SPEC("1") POD_TEMPLATE("") "}},'successfulJobsHistoryLimit':3,'failedJobsHistoryLimit':1}";

static const char cron_job_status[] =
"'status':{'lastScheduleTime':'`3','lastSuccessfulTime':'`3'}";

/* Its pods have its labels, and the selector has its uid. */
static const char job[] =
"'metadata':{'name':'`j','namespace':'`s','labels':{`l},"
"'annotations':{'batch.kubernetes.io/cronjob-scheduled-timestamp':'`t'}"
"`r`M}," JOB_SPEC("`k") POD_TEMPLATE("") ",'completionMode':'NonIndexed','suspend':false,"
"'podReplacementPolicy':'TerminatingOrFailed'}";

static const char job_status[] =
"'status':{'startTime':'`t','active':`k,'ready':0,'terminating':0,'uncountedTerminatedPods':{}}";

/* ---- what belongs to a workload ---- */

static const char service[] =
OWNED_METADATA("`w", "", "") "`M},"
"'spec':{'ports':[{'name':'http','protocol':'TCP','port':80,'targetPort':'http'}],'selector':{`l},'clusterIP':'`I',"
"'clusterIPs':['`I'],'type':'ClusterIP','sessionAffinity':'None','ipFamilies':['IPv4'],'ipFamilyPolicy':'SingleStack',"
"'internalTrafficPolicy':'Cluster'}";

static const char service_status[] = "'status':{'loadBalancer':{}}";

static const char slice[] =
"'metadata':{'name':'`n','generateName':'`w-','namespace':'`s','labels':{`l,"
"'endpointslice.kubernetes.io/managed-by':'endpointslice-controller.k8s.io','kubernetes.io/service-name':'`w'},"
"'annotations':{'endpoints.kubernetes.io/last-change-trigger-time':'`3'}" OWNER("v1", "Service", "`w") "`M},"
"'addressType':'IPv4','ports':[{'name':'http','port':`p,'protocol':'TCP'}],'endpoints':[";

static const char slice_endpoint[] =
"{'addresses':['`I'],'conditions':{'ready':`K,'serving':`K,'terminating':`k},'nodeName':'`o',"
"'targetRef':{'kind':'Pod','namespace':'`s','name':'`n','uid':'`u'},'zone':'eu-central-1`/'}";

static const char config_map[] =
OWNED_METADATA("`w-config", "", "") "`M},'data':{'`a.yaml':";

static const char secret[] =
OWNED_METADATA("`w-database", "", "") "`M},'data':{'password':'`1','url':'`2'},'type':'Opaque'";

/* ---- nodes and events ---- */

static const char node[] =
"'metadata':{'name':'`o','labels':{'beta.kubernetes.io/arch':'amd64','beta.kubernetes.io/instance-type':'m6i.4xlarge',"
"'beta.kubernetes.io/os':'linux','failure-domain.beta.kubernetes.io/region':'eu-central-1',"
"'failure-domain.beta.kubernetes.io/zone':'eu-central-1`/','k8s.io/cloud-provider-aws':'`g',"
"'kubernetes.io/arch':'amd64',"
"'kubernetes.io/hostname':'`o','kubernetes.io/os':'linux','node.kubernetes.io/instance-type':'m6i.4xlarge',"
"'topology.ebs.csi.aws.com/zone':'eu-central-1`/','topology.k8s.aws/zone-id':'euc1-az`x',"
"'topology.kubernetes.io/region':'eu-central-1','topology.kubernetes.io/zone':'eu-central-1`/'},"
"'annotations':{'alpha.kubernetes.io/provided-node-ip':'`H','csi.volume.kubernetes.io/nodeid':"
"'{\\'ebs.csi.aws.com\\':\\'i-`3\\'}','node.alpha.kubernetes.io/ttl':'0','projectcalico.org/IPv4Address':'`H/16',"
"'volumes.kubernetes.io/controller-managed-attach-detach':'true'}`M},"
"'spec':{'podCIDR':'`J/24','podCIDRs':['`J/24'],'providerID':'aws:///eu-central-1`//i-`3'}";

#define NODE_CONDITION(type, status, reason, message) \
"{'type':'" type "','status':'" status "','lastHeartbeatTime':'`r','lastTransitionTime':'`t','reason':'" reason "'," \
"'message':'" message "'}"

static const char node_status[] =
"'status':{'capacity':{'cpu':'16','ephemeral-storage':'104779756Ki','hugepages-1Gi':'0','hugepages-2Mi':'0',"
"'memory':'64780720Ki','pods':'234'},'allocatable':{'cpu':'15890m','ephemeral-storage':'95491281146',"
"'hugepages-1Gi':'0',"
"'hugepages-2Mi':'0','memory':'61838768Ki','pods':'234'},'conditions':["
NODE_CONDITION("NetworkUnavailable", "False", "CalicoIsUp", "Calico is running on this node") ","
NODE_CONDITION("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available") ","
NODE_CONDITION("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure") ","
NODE_CONDITION("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available") ","
NODE_CONDITION("Ready", "True", "KubeletReady", "kubelet is posting ready status") "],"
"'addresses':[{'type':'InternalIP','address':'`H'},{'type':'InternalDNS','address':'`o'},{'type':'Hostname',"
"'address':'`o'}],"
"'daemonEndpoints':{'kubeletEndpoint':{'Port':10250}},'nodeInfo':{'machineID':'`1','systemUUID':'`2','bootID':'`4',"
"'kernelVersion':'6.1.158-178.288.amzn2023.x86_64','osImage':'Amazon Linux 2023.9.20251117',"
"'containerRuntimeVersion':'containerd://2.1.4','kubeletVersion':'v1.37.0','kubeProxyVersion':'',"
"'operatingSystem':'linux',"
"'architecture':'amd64','swap':{'capacity':0}},'images':[";

static const char node_image[] = "{'names':['`i@sha256:`G','`i:`v'],'sizeBytes':`k}";

static const char lease[] =
"'metadata':{'name':'`o','namespace':'kube-node-lease','ownerReferences':[{'apiVersion':'v1','kind':'Node','name':'`o',"
"'uid':'`u'}]`M},'spec':{'holderIdentity':'`o','leaseDurationSeconds':40,'renewTime':'`r'}";

static const char event[] =
"'metadata':{'name':'`n.`x','namespace':'`s'`M},'involvedObject':{'kind':'Pod','namespace':'`s','name':'`n','uid':'`u',"
"'apiVersion':'v1'},'reason':'`1','message':'`2','source':{'component':'`4','host':'`o'},'firstTimestamp':'`t',"
"'lastTimestamp':'`r','count':`k,'type':'`3','eventTime':null,'reportingComponent':'`4','reportingInstance':'`o'";

/* clang-format on */

const char *const kt_load_templates[KT_LOAD_TEMPLATES] = {
    [KT_LOAD_GENERATE_NAME + KT_LOAD_OF_DEPLOYMENT] = "'generateName':'`w-`h-',",
    [KT_LOAD_GENERATE_NAME + KT_LOAD_OF_STATEFUL_SET] = "'generateName':'`w-',",
    [KT_LOAD_GENERATE_NAME + KT_LOAD_OF_DAEMON_SET] = "'generateName':'`w-',",
    [KT_LOAD_GENERATE_NAME + KT_LOAD_OF_JOB] = "'generateName':'`j-',",
    [KT_LOAD_GENERATE_NAME + KT_LOAD_OF_CRON_JOB] = "'generateName':'`j-',",
    [KT_LOAD_GENERATE_NAME + KT_LOAD_OF_NOTHING] = "",
    [KT_LOAD_OWNER_LABELS + KT_LOAD_OF_DEPLOYMENT] = ",'pod-template-hash':'`h'",
    [KT_LOAD_OWNER_LABELS + KT_LOAD_OF_STATEFUL_SET] = STATEFUL_LABELS,
    [KT_LOAD_OWNER_LABELS + KT_LOAD_OF_DAEMON_SET] = ",'controller-revision-hash':'`h','pod-template-generation':'1'",
    [KT_LOAD_OWNER_LABELS + KT_LOAD_OF_JOB] = JOB_LABELS,
    [KT_LOAD_OWNER_LABELS + KT_LOAD_OF_CRON_JOB] = JOB_LABELS,
    [KT_LOAD_OWNER_LABELS + KT_LOAD_OF_NOTHING] = "",
    [KT_LOAD_OWNER_REFERENCE + KT_LOAD_OF_DEPLOYMENT] = OWNER("apps/v1", "ReplicaSet", "`w-`h"),
    [KT_LOAD_OWNER_REFERENCE + KT_LOAD_OF_STATEFUL_SET] = OWNER("apps/v1", "StatefulSet", "`w"),
    [KT_LOAD_OWNER_REFERENCE + KT_LOAD_OF_DAEMON_SET] = OWNER("apps/v1", "DaemonSet", "`w"),
    [KT_LOAD_OWNER_REFERENCE + KT_LOAD_OF_JOB] = OWNER("batch/v1", "Job", "`j"),
    [KT_LOAD_OWNER_REFERENCE + KT_LOAD_OF_CRON_JOB] = OWNER("batch/v1", "Job", "`j"),
    [KT_LOAD_OWNER_REFERENCE + KT_LOAD_OF_NOTHING] = "",
    [KT_LOAD_CRON_JOB_REFERENCE] = OWNER("batch/v1", "CronJob", "`w"),
    [KT_LOAD_POD] = pod,
    [KT_LOAD_VOLUMES] = volumes,
    [KT_LOAD_VOLUMES_SMALL] = volumes_small,
    [KT_LOAD_SECURITY] = security,
    [KT_LOAD_POD_END] = pod_end,
    [KT_LOAD_POD_ADDED] = pod_added,
    [KT_LOAD_DAEMON_END] = daemon_end,
    [KT_LOAD_DAEMON_ADDED] = daemon_added,
    [KT_LOAD_STATEFUL_END] = stateful_end,
    [KT_LOAD_STATEFUL_VOLUME] = stateful_volume,
    [KT_LOAD_TOPOLOGY] = topology,
    [KT_LOAD_POD_NODE] = pod_node,
    [KT_LOAD_TOKEN_MOUNT] = token_mount,
    [KT_LOAD_TOKEN_VOLUME] = token_volume,
    [KT_LOAD_LABELS_HELM] = labels_helm,
    [KT_LOAD_LABELS_PLAIN] = labels_plain,
    [KT_LOAD_CONTAINER] = container,
    [KT_LOAD_CONTAINER_SMALL] = container_small,
    [KT_LOAD_CONTAINER_MESH] = container_mesh,
    [KT_LOAD_CONTAINER_INIT] = container_init,
    [KT_LOAD_VARIABLE] = variable,
    [KT_LOAD_ANNOTATIONS] = annotations,
    [KT_LOAD_ANNOTATIONS_MESH] = annotations_mesh,
    [KT_LOAD_ANNOTATIONS_NETWORK] = annotations_network,
    [KT_LOAD_CONDITION] = condition,
    [KT_LOAD_EVICTED] = evicted,
    [KT_LOAD_HOST_ADDRESSES] = host_addresses,
    [KT_LOAD_POD_ADDRESSES] = pod_addresses,
    [KT_LOAD_CONTAINER_STATUS] = container_status,
    [KT_LOAD_RAN] = ran,
    [KT_LOAD_RAN_MESH] = ran_mesh,
    [KT_LOAD_RAN_INIT] = ran_init,
    [KT_LOAD_RAN_SMALL] = ran_small,
    [KT_LOAD_WAITING] = waiting,
    [KT_LOAD_RUNNING] = running,
    [KT_LOAD_TERMINATED] = terminated,
    [KT_LOAD_DEPLOYMENT] = deployment,
    [KT_LOAD_DEPLOYMENT_STATUS] = deployment_status,
    [KT_LOAD_REPLICA_SET] = replica_set,
    [KT_LOAD_REPLICA_SET_STATUS] = replica_set_status,
    [KT_LOAD_STATEFUL_SET] = stateful_set,
    [KT_LOAD_STATEFUL_SET_STATUS] = stateful_set_status,
    [KT_LOAD_DAEMON_SET] = daemon_set,
    [KT_LOAD_DAEMON_SET_STATUS] = daemon_set_status,
    [KT_LOAD_CRON_JOB] = cron_job,
    [KT_LOAD_CRON_JOB_STATUS] = cron_job_status,
    [KT_LOAD_JOB] = job,
    [KT_LOAD_JOB_STATUS] = job_status,
    [KT_LOAD_SERVICE] = service,
    [KT_LOAD_SERVICE_STATUS] = service_status,
    [KT_LOAD_SLICE] = slice,
    [KT_LOAD_SLICE_ENDPOINT] = slice_endpoint,
    [KT_LOAD_CONFIG_MAP] = config_map,
    [KT_LOAD_SECRET] = secret,
    [KT_LOAD_NODE] = node,
    [KT_LOAD_NODE_STATUS] = node_status,
    [KT_LOAD_NODE_IMAGE] = node_image,
    [KT_LOAD_LEASE] = lease,
    [KT_LOAD_EVENT] = event,
};
