"""Arguments and configuration of the cluster's programs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

PODS = IPv4Network("10.244.0.0/16")
SERVICES = IPv4Network("10.96.0.0/16")
API_SERVICE = SERVICES[1]
"""The address of the service ``kubernetes``."""
API_PORT = 6443
LOOPBACK = IPv4Address("127.0.0.1")
VXLAN_OVERHEAD = 50
"""Bytes that VXLAN over IPv4 adds to a packet."""
PAUSE_IMAGE = "culvert.local/pause:1"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
FELIX_PORT = 9099
MARKS = 0xFF00_0000
"""Bits of packets' marks that Calico may use. By default it has 0xffff0000, and a packet that it
marked then matches the routing rules of Tailscale, which has 0x00ff0000."""
_ETCD = "http://127.0.0.1:2379"
_PEERS = "http://127.0.0.1:2380"


@dataclass(frozen=True)
class Files:
    """Paths of keys and certificates on the control plane's node."""

    authority: str
    api_certificate: str
    api_key: str
    kubelet_certificate: str
    kubelet_key: str
    service_public: str
    service_private: str


def etcd(directory: str) -> list[str]:
    """etcd for one server; without fsync, because the cluster is thrown away."""
    return [
        *("/usr/bin/etcd", f"--data-dir={directory}", f"--listen-client-urls={_ETCD}"),
        *(f"--advertise-client-urls={_ETCD}", f"--listen-peer-urls={_PEERS}"),
        *("--unsafe-no-fsync", "--log-level=warn"),
    ]


def api_server(address: IPv4Address, files: Files) -> list[str]:
    """The API server on the node's own address, and on loopback for its neighbours."""
    return [
        *("/usr/bin/kube-apiserver", f"--etcd-servers={_ETCD}", "--bind-address=0.0.0.0"),
        *(f"--advertise-address={address}", f"--secure-port={API_PORT}"),
        *(f"--client-ca-file={files.authority}", f"--tls-cert-file={files.api_certificate}"),
        f"--tls-private-key-file={files.api_key}",
        f"--kubelet-client-certificate={files.kubelet_certificate}",
        f"--kubelet-client-key={files.kubelet_key}",
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files.service_public}",
        f"--service-account-signing-key-file={files.service_private}",
        *(f"--service-cluster-ip-range={SERVICES}", "--authorization-mode=Node,RBAC"),
        *("--allow-privileged=true", "--endpoint-reconciler-type=lease", "--profiling=false"),
    ]


def controllers(kubeconfig: str, files: Files) -> list[str]:
    """The controller manager, which also makes the default service accounts that pods need."""
    return [
        *("/usr/bin/kube-controller-manager", f"--kubeconfig={kubeconfig}"),
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={files.service_private}",
        *(f"--root-ca-file={files.authority}", f"--cluster-cidr={PODS}"),
        *("--allocate-node-cidrs=true", "--node-cidr-mask-size=24", "--leader-elect=false"),
    ]


def scheduler(kubeconfig: str) -> list[str]:
    """Of the scheduler of this one control plane."""
    return ["/usr/bin/kube-scheduler", f"--kubeconfig={kubeconfig}", "--leader-elect=false"]


def kubelet(name: str, address: IPv4Address, config: str, kubeconfig: str) -> list[str]:
    """The kubelet of one node."""
    return [
        *("/usr/bin/kubelet", f"--config={config}", f"--kubeconfig={kubeconfig}"),
        *(f"--hostname-override={name}", f"--node-ip={address}"),
    ]


def kubelet_config(*, authority: str, certificate: str, key: str, group: str, resolver: str) -> str:
    """The kubelet's configuration; ``group`` is the control group of all its pods."""
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": authority},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "tlsCertFile": certificate,
            "tlsPrivateKeyFile": key,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{group}",
            "cgroupsPerQOS": True,
            "enforceNodeAllocatable": [],
            "failCgroupV1": False,
            "failSwapOn": False,
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "resolvConf": resolver,
            "nodeStatusUpdateFrequency": "5s",
            "imageGCHighThresholdPercent": 100,
            # Pods of tests must not be evicted for the state of the machine's disks.
            "evictionHard": {
                "memory.available": "50Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
            },
        }
    )


def proxy(name: str, kubeconfig: str) -> list[str]:
    """kube-proxy, which must not set the machine's limits of connection tracking."""
    return [
        *("/usr/bin/kube-proxy", f"--kubeconfig={kubeconfig}", f"--hostname-override={name}"),
        *(f"--cluster-cidr={PODS}", "--proxy-mode=iptables", "--conntrack-max-per-core=0"),
        "--conntrack-tcp-timeout-established=0s",
        "--conntrack-tcp-timeout-close-wait=0s",
    ]


CONTAINERD = f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  disable_apparmor = true
  # Without CAP_SYS_RESOURCE runc cannot lower the score of the first container.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def calico_environment(name: str, kubeconfig: str, device: str, mtu: int) -> dict[str, str]:
    """Of Calico's programs on one node; ``mtu`` is that of the pods' network in bytes."""
    quiet = dict.fromkeys(
        ("FELIX_LOGFILEPATH", "FELIX_LOGSEVERITYFILE", "FELIX_LOGSEVERITYSYS"), "none"
    )
    return {
        **quiet,
        "DATASTORE_TYPE": "kubernetes",
        "KUBECONFIG": kubeconfig,
        "NODENAME": name,
        "CLUSTER_TYPE": "k8s",
        "WAIT_FOR_DATASTORE": "true",
        "CALICO_NETWORKING_BACKEND": "vxlan",
        "CALICO_IPV4POOL_CIDR": str(PODS),
        "CALICO_IPV4POOL_IPIP": "Never",
        "CALICO_IPV4POOL_VXLAN": "Always",
        "CALICO_DISABLE_FILE_LOGGING": "true",
        "IP": "autodetect",
        "IP_AUTODETECTION_METHOD": f"interface={device}",
        "IP6": "none",
        "FELIX_VXLANMTU": str(mtu),
        "FELIX_MTUIFACEPATTERN": f"^{device}$",
        "FELIX_DEFAULTENDPOINTTOHOSTACTION": "ACCEPT",
        "FELIX_IPV6SUPPORT": "false",
        "FELIX_USAGEREPORTINGENABLED": "false",
        "FELIX_IPTABLESBACKEND": "NFT",
        "FELIX_IPTABLESMARKMASK": f"{MARKS:#x}",
        "FELIX_XDPENABLED": "false",
        "FELIX_BPFENABLED": "false",
        "FELIX_LOGSEVERITYSCREEN": "warning",
        "FELIX_HEALTHENABLED": "true",
        "FELIX_HEALTHPORT": str(FELIX_PORT),
    }


def calico_network(name: str, kubeconfig: str, mtu: int) -> str:
    """The CNI configuration of one node."""
    calico: dict[str, Any] = {
        "type": "calico",
        "log_level": "warning",
        "datastore_type": "kubernetes",
        "nodename": name,
        "mtu": mtu,
        "ipam": {"type": "calico-ipam"},
        "policy": {"type": "k8s"},
        "kubernetes": {"kubeconfig": kubeconfig},
    }
    return json.dumps(
        {"name": "k8s-pod-network", "cniVersion": "0.3.1", "plugins": [calico]}, indent=1
    )
