/* Rows as kubectl get shows them: each case is an object and the cells of its row. */
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <kinformer-print/columns.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 16 * 1024
};

#define NOW_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */
#define META "'metadata':{'name':'a','creationTimestamp':'2023-11-14T22:13:00Z'}"
#define OBJECT(rest) "{" META rest "}"

/* Cells with | between them. */
typedef struct row_text {
    char text[TEXT_MAX];
    size_t stop_after;
} row_text;

static bool on_cell(size_t index, const char *text, void *user) {
    row_text *row = user;
    size_t size = strlen(row->text);
    snprintf(row->text + size, sizeof row->text - size, "%s%s", index ? "|" : "", text);
    return index + 1 != row->stop_after;
}

/* ' for ", so that the cases can be read. */
static char *with_quotes(const char *json) {
    char *text = strdup(json);
    assert_non_null(text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return text;
}

static ki_object *object_of(const char *json) {
    char *text = with_quotes(json);
    ki_object *obj = make_object_from_json(text);
    free(text);
    return obj;
}

static void print_row(const ki_columns *columns, const char *json, row_text *row) {
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = object_of(json);
    row->text[0] = '\0';
    if (ki_columns_each(columns, obj, NOW_MS, on_cell, row, &err))
        fail_msg("%s: %s", json, ki_error_message(&err));
    ki_object_unref(obj);
}

static ki_columns *columns_of(const ki_resource *resource, const char *definition) {
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    char *text = definition ? with_quotes(definition) : NULL;
    if (ki_columns_new(resource, text, text ? strlen(text) : 0, NULL, &columns, &err))
        fail_msg("%s: %s", resource->plural, ki_error_message(&err));
    free(text);
    return columns;
}

typedef struct row_case {
    const ki_resource *resource;
    const char *json;
    const char *cells;
} row_case;

#define POD(spec, status) OBJECT(",'spec':{'containers':[{},{}]" spec "},'status':{'phase':'Running'" status "}")
#define POD_ROW(ready, status, restarts) "a|" ready "|" status "|" restarts "|20s|<none>|<none>|<none>|<none>"
#define ENDED "'terminated':{'exitCode':0,'reason':'Completed'}"

static const row_case pods[] = {
    { KI_PODS, POD("", ""), POD_ROW("0/2", "Running", "0") },
    { KI_PODS,
      "{" META
      ",'spec':{'containers':[{}],'nodeName':'n','readinessGates':[{'conditionType':'x'},{'conditionType':'y'}]},"
      "'status':{'phase':'Running','podIPs':[{'ip':'10.0.0.1'},{'ip':'::1'}],'nominatedNodeName':'m','conditions':[{"
      "'type':'y','status':'True'}],'containerStatuses':[{'ready':true,'restartCount':3,'state':{'running':{}},"
      "'lastState':{'terminated':{'finishedAt':'2023-11-14T21:13:20Z'}}}]}}",
      "a|1/1|Running|3 (60m ago)|20s|10.0.0.1|n|m|1/2" },
    { KI_PODS, POD("", ",'reason':'Evicted'"), POD_ROW("0/2", "Evicted", "0") },
    { KI_PODS, POD("", ",'conditions':[{'type':'PodScheduled','status':'False','reason':'SchedulingGated'}]"),
      POD_ROW("0/2", "SchedulingGated", "0") },
    { KI_PODS,
      POD("", ",'containerStatuses':[{'state':{'waiting':{'reason':'CrashLoopBackOff'}}},{'ready':true,'state':"
              "{'running':{}},'restartCount':2}]"),
      POD_ROW("1/2", "CrashLoopBackOff", "2") },
    { KI_PODS, POD("", ",'containerStatuses':[{'state':{'terminated':{'exitCode':3}}}]"),
      POD_ROW("0/2", "ExitCode:3", "0") },
    { KI_PODS, POD("", ",'containerStatuses':[{'state':{'terminated':{'exitCode':3,'signal':9}}}]"),
      POD_ROW("0/2", "Signal:9", "0") },
    { KI_PODS, POD("", ",'containerStatuses':[{'state':{" ENDED "}},{'ready':true,'state':{'running':{}}}]"),
      POD_ROW("1/2", "NotReady", "0") },
    { KI_PODS,
      POD("", ",'conditions':[{'type':'Ready','status':'True'}],'containerStatuses':[{'state':{" ENDED "}},{"
              "'ready':true,'state':{'running':{}}}]"),
      POD_ROW("1/2", "Running", "0") },
    { KI_PODS,
      POD("", ",'containerStatuses':[{'state':{" ENDED "}},{'state':{'terminated':{'exitCode':1,'reason':'Error'"
              "}}}]"),
      POD_ROW("0/2", "Error", "0") },
    { KI_PODS,
      POD(",'initContainers':[{'name':'i'},{'name':'j'}]", ",'initContainerStatuses':[{'name':'i','restartCount':1"
                                                           ",'state':{" ENDED "}},{'name':'j','state':{}}]"),
      POD_ROW("0/2", "Init:1/2", "1") },
    { KI_PODS,
      POD(",'initContainers':[{'name':'i'}]", ",'initContainerStatuses':[{'name':'i','state':{'waiting':{"
                                              "'reason':'ImagePullBackOff'}}}]"),
      POD_ROW("0/2", "Init:ImagePullBackOff", "0") },
    { KI_PODS,
      POD(",'initContainers':[{'name':'i'}]", ",'initContainerStatuses':[{'name':'i','state':{'waiting':{"
                                              "'reason':'PodInitializing'}}}]"),
      POD_ROW("0/2", "Init:0/1", "0") },
    { KI_PODS,
      POD(",'initContainers':[{'name':'i'}]", ",'initContainerStatuses':[{'name':'i','state':{'terminated':{"
                                              "'exitCode':2}}}]"),
      POD_ROW("0/2", "Init:ExitCode:2", "0") },
    { KI_PODS,
      POD(",'initContainers':[{'name':'i','restartPolicy':'Always'}]",
          ",'initContainerStatuses':[{'name':'i','started':true,'ready':true,'restartCount':4,'state':{'running':{}}}"
          "],'containerStatuses':[{'ready':true,'restartCount':1,'state':{'running':{}}}]"),
      POD_ROW("2/3", "Running", "5") },
    { KI_PODS, "{'metadata':{'name':'a','deletionTimestamp':'2023-11-14T22:13:00Z'},'status':{'phase':'Running'}}",
      "a|0/0|Terminating|0|<unknown>|<none>|<none>|<none>|<none>" },
    { KI_PODS, "{'metadata':{'name':'a','deletionTimestamp':'2023-11-14T22:13:00Z'},'status':{'phase':'Succeeded'}}",
      "a|0/0|Succeeded|0|<unknown>|<none>|<none>|<none>|<none>" },
    { KI_PODS,
      "{'metadata':{'name':'a','deletionTimestamp':'2023-11-14T22:13:00Z'},'status':{'phase':'Running','reason':'"
      "NodeLost'}}",
      "a|0/0|Unknown|0|<unknown>|<none>|<none>|<none>|<none>" },
};

#define TEMPLATE "'template':{'spec':{'containers':[{'name':'c','image':'i:1'},{'name':'d','image':'j'}]}}"
#define SELECTED "'selector':{'matchLabels':{'b':'2','a':'1'}}"

static const row_case workloads[] = {
    { KI_DEPLOYMENTS,
      OBJECT(",'spec':{'replicas':3," SELECTED "," TEMPLATE
             "},'status':{'readyReplicas':2,'updatedReplicas':1,'availableReplicas':2}"),
      "a|2/3|1|2|20s|c,d|i:1,j|a=1,b=2" },
    { KI_REPLICASETS,
      OBJECT(",'spec':{'replicas':3," SELECTED "," TEMPLATE "},'status':{'replicas':2,'readyReplicas':1}"),
      "a|3|2|1|20s|c,d|i:1,j|a=1,b=2" },
    { KI_REPLICASETS,
      OBJECT(
          ",'spec':{'selector':{'matchLabels':{'m':'1'},'matchExpressions':[{'key':'z','operator':'DoesNotExist'},{'"
          "key':"
          "'k','operator':'In','values':['y','x']},{'key':'n','operator':'NotIn','values':['v']},{'key':'b','operator':"
          "'Exists'}]}}"),
      "a|0|0|0|20s|||b,k in (x,y),m=1,n notin (v),!z" },
    { KI_REPLICATIONCONTROLLERS, OBJECT(",'spec':{'replicas':1,'selector':{'a':'b'}," TEMPLATE "}"),
      "a|1|0|0|20s|c,d|i:1,j|a=b" },
    { KI_STATEFULSETS, OBJECT(",'spec':{'replicas':3," TEMPLATE "},'status':{'readyReplicas':2}"),
      "a|2/3|20s|c,d|i:1,j" },
    { KI_DAEMONSETS,
      OBJECT(",'spec':{" SELECTED ",'template':{'spec':{'nodeSelector':{'y':'1','x':''}}}},'status':{"
             "'desiredNumberScheduled':5,'currentNumberScheduled':4,'numberReady':3,'updatedNumberScheduled':2,"
             "'numberAvailable':1}"),
      "a|5|4|3|2|1|x=,y=1|20s|||a=1,b=2" },
    { KI_JOBS, OBJECT(",'spec':{'completions':2},'status':{'succeeded':1,'startTime':'2023-11-14T22:03:20Z'}"),
      "a|Running|1/2|10m|20s|||<none>" },
    { KI_JOBS,
      OBJECT(",'spec':{'parallelism':3},'status':{'succeeded':4,'startTime':'2023-11-14T22:03:20Z','completionTime':"
             "'2023-11-14T22:04:00Z','conditions':[{'type':'SuccessCriteriaMet','status':'True'},{'type':'Complete',"
             "'status':'True'}]}"),
      "a|Complete|4/1 of 3|40s|20s|||<none>" },
    { KI_JOBS,
      OBJECT(",'status':{'conditions':[{'type':'Failed','status':'False'},{'type':'Suspended','status':'True'}]}"),
      "a|Suspended|0/1||20s|||<none>" },
    { KI_CRONJOBS,
      OBJECT(",'spec':{'schedule':'* * * * *','suspend':true,'timeZone':'UTC','jobTemplate':{'spec':{" TEMPLATE
             "}}},'status':{'active':[{},{}],'lastScheduleTime':'2023-11-14T22:12:20Z'}"),
      "a|* * * * *|UTC|True|2|60s|20s|c,d|i:1,j|<none>" },
    { KI_CRONJOBS, OBJECT(",'spec':{'schedule':'@daily'}"), "a|@daily|<none>|<unset>|0|<none>|20s|||<none>" },
    { KI_CONTROLLERREVISIONS,
      "{'metadata':{'name':'a','ownerReferences':[{'kind':'X','name':'x'},{'apiVersion':'apps/v1','kind':'StatefulSet',"
      "'name':'db','controller':true}]},'revision':4}",
      "a|statefulset.apps/db|4|<unknown>" },
    { KI_CONTROLLERREVISIONS,
      "{'metadata':{'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'AZ','name':'x','controller':true}]}}",
      "a|az/x|0|<unknown>" },
    { KI_HORIZONTALPODAUTOSCALERS,
      OBJECT(",'spec':{'scaleTargetRef':{'kind':'Deployment','name':'web'},'maxReplicas':9,'minReplicas':2,'metrics':[{"
             "'type':"
             "'Resource','resource':{'name':'cpu','target':{'averageUtilization':80}}},{'type':'External','external':{"
             "'target':{'averageValue':'5'}}},{'type':'Pods','pods':{}}]},'status':{'currentReplicas':3,'"
             "currentMetrics':[{"
             "'type':'Resource','resource':{'current':{'averageUtilization':50}}}]}"),
      "a|Deployment/web|cpu: 50%/80%, <unknown>/5 (avg) + 1 more...|2|9|3|20s" },
    { KI_HORIZONTALPODAUTOSCALERS_V1,
      OBJECT(",'spec':{'scaleTargetRef':{'kind':'Deployment','name':'web'},'maxReplicas':9,'"
             "targetCPUUtilizationPercentage'"
             ":70}"),
      "a|Deployment/web|cpu: <unknown>/70%|<unset>|9|0|20s" },
    { KI_PODDISRUPTIONBUDGETS, OBJECT(",'spec':{'minAvailable':'50%'},'status':{'disruptionsAllowed':1}"),
      "a|50%|N/A|1|20s" },
    { KI_PODDISRUPTIONBUDGETS, OBJECT(",'spec':{'maxUnavailable':2}"), "a|N/A|2|0|20s" },
};

static const row_case others[] = {
    { KI_NODES,
      "{'metadata':{'name':'a','labels':{'node-role.kubernetes.io/worker':'','node-role.kubernetes.io/"
      "control-plane':'',"
      "'kubernetes.io/role':'master','node-role.kubernetes.io/"
      "':''}},'spec':{'unschedulable':true},'status':{'conditions':[{"
      "'type':'Ready','status':'Unknown'}],'addresses':[{'type':'Hostname','address':'h'},{'type':'InternalIP','"
      "address':"
      "'10.0.0.1'}],'nodeInfo':{'kubeletVersion':'v1.36.3','kernelVersion':'6.1','architecture':'arm64'}}}",
      "a|NotReady,SchedulingDisabled|control-plane,master,worker|<unknown>|v1.36.3|10.0.0.1|<none>|<unknown>|6.1 "
      "(arm64)|<unknown>" },
    { KI_NODES, "{'metadata':{'name':'a','labels':{'node-role.kubernetes.io/x':'','kubernetes.io/role':'x'}}}",
      "a|Unknown|x|<unknown>||<none>|<none>|<unknown>|<unknown>|<unknown>" },
    { KI_NAMESPACES, OBJECT(",'status':{'phase':'Active'}"), "a|Active|20s" },
    { KI_CONFIGMAPS, OBJECT(",'data':{'x':'1','y':'2'},'binaryData':{'z':''}"), "a|3|20s" },
    { KI_SECRETS, OBJECT(",'type':'Opaque','data':{'x':''}"), "a|Opaque|1|20s" },
    { KI_SERVICEACCOUNTS, OBJECT(""), "a|20s" },
    { KI_LIMITRANGES, OBJECT(""), "a|2023-11-14T22:13:00Z" },
    { KI_RESOURCEQUOTAS,
      OBJECT(",'status':{'hard':{'pods':'9','limits.cpu':'4','cpu':'2'},'used':{'pods':'1','limits.cpu':'500m'}}"),
      "a|cpu: 0/2, pods: 1/9|limits.cpu: 500m/4|20s" },
    { KI_SERVICES,
      OBJECT(",'spec':{'type':'ClusterIP','clusterIPs':['10.0.0.1'],'ports':[{'port':80,'protocol':'TCP'},{'port':53,"
             "'protocol':'UDP'}],'selector':{'a':'b'}}"),
      "a|ClusterIP|10.0.0.1|<none>|80/TCP,53/UDP|20s|a=b" },
    { KI_SERVICES,
      OBJECT(",'spec':{'type':'LoadBalancer','clusterIPs':['10.0.0.1'],'externalIPs':['2.2.2.2'],'ports':[{'port':80,"
             "'nodePort':30080,'protocol':'TCP'}]},'status':{'loadBalancer':{'ingress':[{'ip':'9.9.9.9'},{'hostname':'"
             "h'},{'ip':"
             "'1.1.1.1'},{'ip':'9.9.9.9'}]}}"),
      "a|LoadBalancer|10.0.0.1|1.1.1.1,9.9.9.9,h,2.2.2.2|80:30080/TCP|20s|<none>" },
    { KI_SERVICES, OBJECT(",'spec':{'type':'LoadBalancer'}"), "a|LoadBalancer|<none>|<pending>|<none>|20s|<none>" },
    { KI_SERVICES, OBJECT(",'spec':{'type':'ExternalName','externalName':'example.com'}"),
      "a|ExternalName|<none>|example.com|<none>|20s|<none>" },
    { KI_ENDPOINTS,
      OBJECT(",'subsets':[{'addresses':[{'ip':'1.1.1.1'},{'ip':'::1'}],'ports':[{'port':80},{'port':81}]},{'addresses':"
             "[{'ip':"
             "'2.2.2.2'}]}]"),
      "a|1.1.1.1:80,[::1]:80,1.1.1.1:81 + 2 more...|20s" },
    { KI_ENDPOINTS, OBJECT(""), "a|<none>|20s" },
    { KI_ENDPOINTSLICES,
      OBJECT(",'addressType':'IPv4','ports':[{'port':80},{'name':'x'},{}],'endpoints':[{'addresses':['1.1.1.1','2.2.2."
             "2']},{"
             "'addresses':['3.3.3.3','4.4.4.4']}]"),
      "a|IPv4|80,x,*|1.1.1.1,2.2.2.2,3.3.3.3 + 1 more...|20s" },
    { KI_INGRESSES,
      OBJECT(",'spec':{'ingressClassName':'nginx','tls':[{}],'rules':[{'host':'a'},{'host':'b'},{'host':'c'},{'host':'"
             "d'}]}"),
      "a|nginx|a,b,c + 1 more...||80, 443|20s" },
    { KI_INGRESSES, OBJECT(",'spec':{'rules':[{}]},'status':{'loadBalancer':{'ingress':[{'ip':'1.1.1.1'}]}}"),
      "a|<none>|*|1.1.1.1|80|20s" },
    { KI_INGRESSCLASSES,
      "{'metadata':{'name':'a','annotations':{'ingressclass.kubernetes.io/"
      "is-default-class':'true'}},'spec':{'controller':"
      "'x/y','parameters':{'apiGroup':'g','kind':'K','name':'n'}}}",
      "a (default)|x/y|K.g/n|<unknown>" },
    { KI_NETWORKPOLICIES, OBJECT(",'spec':{'podSelector':{}}"), "a|<none>|20s" },
    { KI_APISERVICES,
      OBJECT(",'spec':{'service':{'namespace':'n','name':'s'}},'status':{'conditions':[{'type':'Available',"
             "'status':'False','reason':'MissingEndpoints'}]}"),
      "a|n/s|False (MissingEndpoints)|20s" },
    { KI_PERSISTENTVOLUMES,
      OBJECT(
          ",'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteMany','ReadWriteOnce'],"
          "'persistentVolumeReclaimPolicy':'Retain','storageClassName':'fast','claimRef':{'namespace':'n','name':'c'},"
          "'volumeMode':'Block'},'status':{'phase':'Bound'}"),
      "a|1Gi|RWO,RWX|Retain|Bound|n/c|fast|<unset>||20s|Block" },
    { KI_PERSISTENTVOLUMECLAIMS,
      OBJECT(",'spec':{'volumeName':'v','storageClassName':'fast','volumeMode':'Filesystem'},'status':{'phase':'Bound',"
             "'accessModes':['ReadWriteOncePod'],'capacity':{'storage':'1Gi'}}"),
      "a|Bound|v|1Gi|RWOP|fast|<unset>|20s|Filesystem" },
    { KI_PERSISTENTVOLUMECLAIMS,
      "{'metadata':{'name':'a','annotations':{'volume.beta.kubernetes.io/"
      "storage-class':'old'}},'spec':{},'status':{'phase':"
      "'Pending','accessModes':['ReadWriteOnce']}}",
      "a|Pending||||old|<unset>|<unknown>|<unset>" },
    { KI_STORAGECLASSES,
      "{'metadata':{'name':'a','annotations':{'storageclass.kubernetes.io/"
      "is-default-class':'true'}},'provisioner':'p'}",
      "a (default)|p|Delete|Immediate|false|<unknown>" },
    { KI_EVENTS,
      OBJECT(
          ",'type':'Normal','reason':'Started','involvedObject':{'kind':'Pod','name':'p','fieldPath':'spec'},'message':"
          "'one\\n"
          "two\\n','source':{'component':'kubelet','host':'n'},'firstTimestamp':'2023-11-14T21:13:20Z','lastTimestamp':"
          "'2023-11-14T22:11:20Z','count':3"),
      "2m|Normal|Started|pod/p|spec|kubelet, n|one...|60m|3|a" },
    { KI_EVENTS,
      OBJECT(",'involvedObject':{'kind':'Node'},'eventTime':'2023-11-14T22:12:20.000001Z','series':{'count':7,"
             "'lastObservedTime':'2023-11-14T22:13:10Z'},'reportingComponent':'x'"),
      "10s|||node||x||60s|7|a" },
    { KI_EVENTS_K8S_IO_EVENTS,
      OBJECT(",'regarding':{'kind':'Pod','name':'p'},'note':' hello ','eventTime':'2023-11-14T22:12:20.5Z'"),
      "59s|||pod/p|||hello|59s|1|a" },
    { KI_ROLEBINDINGS,
      OBJECT(",'roleRef':{'kind':'Role','name':'r'},'subjects':[{'kind':'User','name':'u'},{'kind':'ServiceAccount','"
             "namespace':"
             "'n','name':'s'},{'kind':'Group','name':'g'},{'kind':'User','name':'v'}]"),
      "a|Role/r|20s|u, v|g|n/s" },
    { KI_ROLES, OBJECT(""), "a|2023-11-14T22:13:00Z" },
    { KI_LEASES, OBJECT(",'spec':{'holderIdentity':'me'}"), "a|me|20s" },
    { KI_FLOWSCHEMAS,
      OBJECT(",'spec':{'priorityLevelConfiguration':{'name':'p'},'matchingPrecedence':7,'distinguisherMethod':{'type':'"
             "ByUser'}},"
             "'status':{'conditions':[{'type':'Dangling','status':'False'}]}"),
      "a|p|7|ByUser|20s|False" },
    { KI_FLOWSCHEMAS, OBJECT(""), "a||0|<none>|20s|?" },
    { KI_PRIORITYLEVELCONFIGURATIONS,
      OBJECT(
          ",'spec':{'type':'Limited','limited':{'nominalConcurrencyShares':5,'limitResponse':{'queuing':{'queues':64,"
          "'handSize':6,'queueLengthLimit':50}}}}"),
      "a|Limited|5|64|6|50|20s" },
    { KI_PRIORITYLEVELCONFIGURATIONS, OBJECT(",'spec':{'type':'Exempt'}"), "a|Exempt|<none>|<none>|<none>|<none>|20s" },
    { KI_CERTIFICATESIGNINGREQUESTS,
      OBJECT(",'spec':{'signerName':'s','username':'u','expirationSeconds':3600},'status':{'certificate':'AA==','"
             "conditions':[{"
             "'type':'Approved'}]}"),
      "a|20s|s|u|60m|Approved,Issued" },
    { KI_CERTIFICATESIGNINGREQUESTS, OBJECT(",'status':{'conditions':[{'type':'Denied'},{'type':'Failed'}]}"),
      "a|20s|<none>||<none>|Denied,Failed" },
    { KI_CLUSTERTRUSTBUNDLES, OBJECT(",'spec':{'signerName':'e.x/s'}"), "a|e.x/s" },
    { KI_CLUSTERTRUSTBUNDLES, OBJECT(",'spec':{}"), "a|<none>" },
    { KI_PODCERTIFICATEREQUESTS,
      OBJECT(",'spec':{'podName':'p','serviceAccountName':'s','nodeName':'n','signerName':'e.x/s',"
             "'unverifiedUserAnnotations':{'e.x/b':'2','e.x/a':'1'}},'status':{'conditions':[{'type':'Issued',"
             "'status':'True'}]}"),
      "a|p|s|n|e.x/s|Issued|e.x/a=1,e.x/b=2" },
    { KI_PODCERTIFICATEREQUESTS, OBJECT(",'spec':{'podName':'p'}"), "a|p||||Pending|<none>" },
    { KI_CUSTOMRESOURCEDEFINITIONS,
      OBJECT(",'spec':{'scope':'Namespaced','group':'e.x','names':{'kind':'Foo','shortNames':['f','fo']},'versions':"
             "[{'name':'v1beta1','served':true},{'name':'v1alpha1','served':false},{'name':'v1','served':true,"
             "'storage':true}]},'status':{'conditions':[{'type':'Established','status':'True'}]}"),
      "a|Namespaced|v1(storage),v1beta1|2023-11-14T22:13:00Z|e.x|Foo|f,fo|true" },
    { KI_CUSTOMRESOURCEDEFINITIONS, OBJECT(",'spec':{'scope':'Cluster','names':{'kind':'Foo'}}"),
      "a|Cluster||2023-11-14T22:13:00Z||Foo||false" },
    { KI_STORAGEVERSIONMIGRATIONS,
      OBJECT(",'spec':{'resource':{'group':'apps','resource':'deployments'}},'status':{'conditions':[{'type':'Running',"
             "'status':'True'},{'type':'Succeeded','status':'True'},{'type':'Failed','status':'False'}]}"),
      "a|deployments.apps|Succeeded" },
    { KI_STORAGEVERSIONMIGRATIONS, OBJECT(",'spec':{'resource':{'resource':'pods'}}"), "a|pods|Unknown" },
    { KI_DEVICETAINTRULES,
      OBJECT(",'spec':{'taint':{'key':'k','value':'v','effect':'NoExecute','timeAdded':'2023-11-14T22:12:20Z'}}"),
      "a|k|v|NoExecute|60s|20s" },
    { KI_CSISTORAGECAPACITIES, OBJECT(",'storageClassName':'s'"), "a|s|<unset>" },
    { KI_SERVICECIDRS, OBJECT(",'spec':{'cidrs':['10.0.0.0/8','fd00::/64']}"), "a|10.0.0.0/8,fd00::/64|20s" },
    { KI_IPADDRESSES, OBJECT(",'spec':{'parentRef':{'resource':'services','namespace':'n','name':'s'}}"),
      "a|services/n/s" },
    { KI_IPADDRESSES, OBJECT(",'spec':{'parentRef':{'group':'g','resource':'r','name':'s'}}"), "a|r.g/s" },
    { KI_VALIDATINGADMISSIONPOLICIES,
      OBJECT(",'spec':{'validations':[{}],'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}}"),
      "a|1|v1/ConfigMap|20s" },
    { KI_MUTATINGADMISSIONPOLICIES, OBJECT(",'spec':{'mutations':[{},{}]}"), "a|2|<unset>|20s" },
    { KI_RESOURCECLAIMS, OBJECT(",'status':{'allocation':{},'reservedFor':[{}]}"), "a|allocated,reserved|20s" },
    { KI_RESOURCECLAIMS, OBJECT(""), "a|pending|20s" },
    { KI_RESOURCESLICES, OBJECT(",'spec':{'nodeName':'n','driver':'d','pool':{'name':'p'}}"), "a|n|d|p|20s" },
    { KI_COMPONENTSTATUSES, OBJECT(",'conditions':[{'type':'Healthy','status':'True','message':'ok'}]"),
      "a|Healthy|ok|" },
    { KI_PRIORITYCLASSES, OBJECT(",'value':1000,'globalDefault':true,'preemptionPolicy':'Never'"),
      "a|1000|true|20s|Never" },
};

static void check_rows(const row_case *cases, size_t count) {
    static row_text row;
    int failures = 0;
    for (size_t i = 0; i < count; i++) {
        ki_columns *columns = columns_of(cases[i].resource, NULL);
        print_row(columns, cases[i].json, &row);
        if (strcmp(row.text, cases[i].cells) != 0) {
            print_error("%s %s\n  is   %s\n  not  %s\n", cases[i].resource->plural, cases[i].json, row.text,
                        cases[i].cells);
            failures++;
        }
        ki_columns_free(columns);
    }
    assert_int_equal(failures, 0);
}

TEST(a_pods_row_says_what_its_containers_say) {
    check_rows(pods, sizeof pods / sizeof pods[0]);
}

TEST(workloads_rows_are_kubectls) {
    check_rows(workloads, sizeof workloads / sizeof workloads[0]);
}

TEST(the_rows_of_other_kinds_are_kubectls) {
    check_rows(others, sizeof others / sizeof others[0]);
}

/* With more containers, statuses, conditions and gates than are looked through for one another, each of them. */
TEST(a_pod_of_any_size_makes_a_row) {
    enum {
        MANY = 30000
    };
    static const char *const lists[][3] = {
        { "{'metadata':{'name':'a'},'spec':{'containers':[],'initContainers':", "{'name':'i%d'}", "" },
        { ",'readinessGates':", "{'conditionType':'c%d'}", "},'status':{'phase':'Running'" },
        { ",'conditions':", "{'type':'d%d','status':'True'}", "" },
        { ",'initContainerStatuses':", "{'name':'i%d','state':{'terminated':{'exitCode':0}}}", "" },
        { ",'containerStatuses':", "{'name':'k%d','state':{'terminated':{'exitCode':0}}}", "}}" }
    };
    static row_text row;
    char *json = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&json, &size);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (int j = 0; j < MANY; j++) {
            fputs(j ? "," : lists[i][0], out);
            if (j == 0)
                fputc('[', out);
            char item[128];
            const char *at = strstr(lists[i][1], "%d");
            snprintf(item, sizeof item, "%.*s%d%s", (int)(at - lists[i][1]), lists[i][1], j, at + 2);
            fputs(item, out);
        }
        fprintf(out, "]%s", lists[i][2]);
    }
    fclose(out);
    ki_columns *columns = columns_of(KI_PODS, NULL);
    print_row(columns, json, &row);
    assert_string_equal(row.text, "a|0/0|ExitCode:0|0|<unknown>|<none>|<none>|<none>|0/30000");
    ki_columns_free(columns);
    free(json);
}

TEST(numbers_that_no_server_would_send_do_not_overflow) {
    static const row_case cases[] = {
        { KI_PODS,
          POD("", ",'containerStatuses':[{'restartCount':9223372036854775807},{'restartCount':9223372036854775807}]"),
          POD_ROW("0/2", "Running", "9223372036854775807") },
        { KI_PODS,
          POD("",
              ",'containerStatuses':[{'restartCount':-9223372036854775808},{'restartCount':-2},{'restartCount':1}]"),
          POD_ROW("0/2", "Running", "1") },
        { KI_CERTIFICATESIGNINGREQUESTS, OBJECT(",'spec':{'expirationSeconds':9223372036854775807}"),
          "a|20s|<none>||292471208y|Pending" },
        { KI_CERTIFICATESIGNINGREQUESTS, OBJECT(",'spec':{'expirationSeconds':-9223372036854775808}"),
          "a|20s|<none>||<invalid>|Pending" },
    };
    check_rows(cases, sizeof cases / sizeof cases[0]);
}

TEST(any_time_may_be_now) {
    static const struct {
        int64_t now_ms;
        const char *cells;
    } cases[] = { { INT64_MIN, "a|<invalid>" }, { INT64_MAX, "a|146237575y" } };
    static row_text row;
    ki_columns *columns = columns_of(KI_SERVICEACCOUNTS, NULL);
    ki_object *past = object_of("{'metadata':{'name':'a','creationTimestamp':'0000-01-01T00:00:00Z'}}");
    ki_object *future = object_of("{'metadata':{'name':'a','creationTimestamp':'9999-01-01T00:00:00Z'}}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        row.text[0] = '\0';
        assert_int_equal(
            ki_columns_each(columns, cases[i].now_ms < 0 ? future : past, cases[i].now_ms, on_cell, &row, NULL), KI_OK);
        assert_string_equal(row.text, cases[i].cells);
    }
    ki_object_unref(past);
    ki_object_unref(future);
    ki_columns_free(columns);
}

TEST(ages_are_written_as_kubectl_writes_them) {
    static const struct {
        const char *created;
        const char *age;
    } cases[] = { { "2023-11-14T22:13:20Z", "0s" },
                  { "2023-11-14T22:13:21Z", "0s" },
                  { "2023-11-14T22:13:22Z", "<invalid>" },
                  { "2023-11-14T22:11:21Z", "119s" },
                  { "2023-11-14T22:11:20Z", "2m" },
                  { "2023-11-14T22:08:17Z", "5m3s" },
                  { "2023-11-14T22:03:19Z", "10m" },
                  { "2023-11-14T19:13:21Z", "179m" },
                  { "2023-11-14T19:13:20Z", "3h" },
                  { "2023-11-14T14:30:20Z", "7h43m" },
                  { "2023-11-14T14:13:20Z", "8h" },
                  { "2023-11-12T22:13:21Z", "47h" },
                  { "2023-11-12T22:13:20Z", "2d" },
                  { "2023-11-11T20:13:20Z", "3d2h" },
                  { "2023-11-06T22:13:20Z", "8d" },
                  { "2021-11-15T22:13:20Z", "729d" },
                  { "2021-11-14T22:13:20Z", "2y" },
                  { "2020-11-10T22:13:20Z", "3y4d" },
                  { "2013-11-14T22:13:20Z", "10y" },
                  { "2023-11-14T23:13:00+01:00", "20s" },
                  { "2023-11-14T21:43:00.5-00:30", "19s" },
                  { "yesterday", "<unknown>" },
                  { "2023-13-14T22:13:20Z", "<unknown>" },
                  { "2023-11-14T22:13:20", "<unknown>" },
                  { "", "<unknown>" },
                  { "2023-11-14T22:13:2xZ", "<unknown>" } };
    static row_text row;
    ki_columns *columns = columns_of(KI_SERVICEACCOUNTS, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[128], cells[64];
        snprintf(json, sizeof json, "{'metadata':{'name':'a','creationTimestamp':'%s'}}", cases[i].created);
        snprintf(cells, sizeof cells, "a|%s", cases[i].age);
        print_row(columns, json, &row);
        if (strcmp(row.text, cells) != 0)
            fail_msg("%s: %s, not %s", cases[i].created, row.text, cells);
    }
    ki_columns_free(columns);
}

/* ---- custom resources ---- */

static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };

#define DEFINITION(columns) \
    "{'spec':{'versions':[{'name':'v2'},{'name':'v1','additionalPrinterColumns':[" columns "]}]}}"
#define SHOWS(name, type, path) "{'name':'" name "','type':'" type "','jsonPath':'" path "'}"

TEST(a_custom_resources_columns_are_those_of_its_definition) {
    static row_text row;
    ki_columns *columns = columns_of(
        &foos, DEFINITION(SHOWS("Size", "integer", ".spec.size") "," SHOWS(
                   "Text", "string", ".spec.text") ",{'name':'Wide','type':'string','priority':1,'description':'d','"
                                                   "jsonPath':'.spec.list[?(@.n==1)].v'}"));
    assert_int_equal(ki_columns_count(columns), 4);
    assert_int_equal(ki_columns_at(columns, 3)->priority, 1);
    assert_string_equal(ki_columns_at(columns, 3)->description, "d");
    assert_string_equal(ki_columns_at(columns, 0)->format, "name");
    assert_string_equal(ki_columns_at(columns, 1)->name, "Size");
    assert_string_equal(ki_columns_at(columns, 1)->type, "integer");
    assert_null(ki_columns_at(columns, 4));
    print_row(columns, OBJECT(",'spec':{'size':3,'text':'red','list':[{'n':2},{'n':1,'v':'x'}]}"), &row);
    assert_string_equal(row.text, "a|3|red|x");
    ki_columns_free(columns);
}

TEST(a_custom_cell_shows_what_is_of_its_type) {
    static const struct {
        const char *type;
        const char *value;
        const char *text;
    } cases[] = { { "integer", "3", "3" },
                  { "integer", "3.7", "3" },
                  { "integer", "'3'", "" },
                  { "integer", "null", "" },
                  { "number", "3", "3" },
                  { "number", "0.5", "0.5" },
                  { "number", "true", "" },
                  { "boolean", "true", "true" },
                  { "boolean", "'true'", "" },
                  { "string", "'x'", "x" },
                  { "string", "''", "" },
                  { "string", "3", "3" },
                  { "string", "2.5", "2.5" },
                  { "string", "false", "false" },
                  { "string", "null", "<no value>" },
                  { "string", "{'b':[1,'x'],'a':{}}", "{\"a\":{},\"b\":[1,\"x\"]}" },
                  { "string", "'one\\ntwo'", "one..." },
                  { "date", "'2023-11-14T22:12:20Z'", "60s" },
                  { "date", "'soon'", "<invalid>" },
                  { "date", "7", "" },
                  { "unheard-of", "7", "" } };
    static row_text row;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[256], cells[128];
        snprintf(json, sizeof json, DEFINITION("{'name':'X','type':'%s','jsonPath':'.v'}"), cases[i].type);
        ki_columns *columns = columns_of(&foos, json);
        snprintf(json, sizeof json, "{'metadata':{'name':'a'},'v':%s}", cases[i].value);
        snprintf(cells, sizeof cells, "a|%s", cases[i].text);
        print_row(columns, json, &row);
        if (strcmp(row.text, cells) != 0)
            fail_msg("%s %s: %s, not %s", cases[i].type, cases[i].value, row.text, cells);
        print_row(columns, "{'metadata':{'name':'a'}}", &row);
        assert_string_equal(row.text, "a|");
        ki_columns_free(columns);
    }
}

TEST(without_a_definition_or_columns_there_are_name_and_age) {
    static const char *const definitions[] = { NULL, "{}", "[]", DEFINITION(""), "{'spec':{'versions':7}}" };
    static row_text row;
    for (size_t i = 0; i < sizeof definitions / sizeof definitions[0]; i++) {
        ki_columns *columns = columns_of(&foos, definitions[i]);
        print_row(columns, OBJECT(""), &row);
        assert_string_equal(row.text, "a|20s");
        ki_columns_free(columns);
    }
    ki_columns *columns = NULL;
    assert_int_equal(ki_columns_new(&foos, "{", 1, NULL, &columns, NULL), KI_ERR_PARSE);
    assert_null(columns);
}

TEST(a_path_that_is_none_ends_the_columns) {
    ki_columns *columns = columns_of(
        &foos, DEFINITION(SHOWS("A", "string", ".a") "," SHOWS("B", "string", ".b[") "," SHOWS("C", "string", ".c")));
    assert_int_equal(ki_columns_count(columns), 2);
    ki_columns_free(columns);
}

TEST(columns_past_the_limit_are_left_out) {
    static char json[TEXT_MAX];
    static row_text row;
    size_t size = (size_t)snprintf(json, sizeof json, "{'spec':{'versions':[{'name':'v1','additionalPrinterColumns':[");
    for (int i = 0; i < KI_COLUMNS_MAX + 2; i++)
        size += (size_t)snprintf(json + size, sizeof json - size, "%s" SHOWS("X", "string", ".v"), i ? "," : "");
    snprintf(json + size, sizeof json - size, "]}]}}");
    ki_columns *columns = columns_of(&foos, json);
    assert_int_equal(ki_columns_count(columns), KI_COLUMNS_MAX + 1); /* and the name */
    row.stop_after = 2;
    print_row(columns, "{'metadata':{'name':'a'},'v':'x'}", &row);
    assert_string_equal(row.text, "a|x");
    row.stop_after = 0;
    ki_columns_free(columns);
}

TEST(each_allocation_may_fail) {
    static row_text row;
    static const row_case cases[] = {
        { &foos, OBJECT(",'v':{'b':[1,2]}"), DEFINITION(SHOWS("X", "string", ".v") "," SHOWS("Y", "date", ".w")) },
        { KI_NODES, "{'metadata':{'name':'a','labels':{'node-role.kubernetes.io/x':''}}}", NULL },
        { KI_REPLICASETS, OBJECT(",'spec':{" SELECTED "}"), NULL },
        { KI_SERVICES,
          OBJECT(",'spec':{'type':'LoadBalancer','selector':{'a':'b'}},'status':{'loadBalancer':{'ingress':[{'ip':'1'}]"
                 "}}"),
          NULL },
        { KI_RESOURCEQUOTAS, OBJECT(",'status':{'hard':{'pods':'9'}}"), NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *definition = cases[i].cells ? with_quotes(cases[i].cells) : NULL;
        ki_object *obj = object_of(cases[i].json);
        bool is_over = false;
        for (size_t n = 0; !is_over; n++) {
            scarce_memory memory;
            scarce_memory_init(&memory, n);
            ki_columns *columns = NULL;
            ki_error err = KI_ERROR_INIT;
            row.text[0] = '\0';
            ki_status status = ki_columns_new(cases[i].resource, definition, definition ? strlen(definition) : 0,
                                              &memory.allocator, &columns, &err);
            if (!status)
                status = ki_columns_each(columns, obj, NOW_MS, on_cell, &row, &err);
            is_over = !scarce_memory_failed(&memory);
            if (status != (is_over ? KI_OK : KI_ERR_NO_MEMORY))
                fail_msg("case %zu, allocation %zu: %s", i, n, ki_error_message(&err));
            ki_columns_free(columns);
            assert_int_equal(scarce_memory_in_use(&memory), 0);
        }
        ki_object_unref(obj);
        free(definition);
    }
}
