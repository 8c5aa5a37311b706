#!/usr/bin/env python3
"""sbom.py GO VERSION ARCH BINARY...: print what static programs contain, as SPDX 2.3 in JSON: Go and its modules, as the
programs tell, and the C libraries of Debian, as LIBRARIES in the environment does (a line "NAME VERSION" each).
SOURCE_DATE_EPOCH is the time of creation."""

import hashlib
import json
import os
import subprocess
import sys
import time
import uuid

go, version, arch, *binaries = sys.argv[1:]
packages, relationships = {}, []


def package(name, version, purl, **more):
    ident = "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in f"{name}-{version}")
    packages[ident] = {"SPDXID": ident, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
                       "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
                       "copyrightText": "NOASSERTION", **more}
    if purl:
        packages[ident]["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                            "referenceLocator": purl}]
    return ident


def relate(one, how, other):
    relationships.append({"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other})


for binary in binaries:
    with open(binary, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    program = package(os.path.basename(binary), version, None, primaryPackagePurpose="APPLICATION",
                      licenseDeclared="Apache-2.0", checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    relate("SPDXRef-DOCUMENT", "DESCRIBES", program)
    lines = subprocess.check_output([go, "version", "-m", binary], text=True).splitlines()
    stdlib = lines[0].split()[-1].removeprefix("go")
    relate(program, "STATIC_LINK", package("stdlib", stdlib, f"pkg:golang/stdlib@{stdlib}"))
    for line in lines[1:]:
        words = line.split()
        if words[0] == "dep" and words[1] != "brig":  # the jail, which is of the same source
            relate(program, "STATIC_LINK", package(words[1], words[2], f"pkg:golang/{words[1]}@{words[2]}"))
    for line in os.environ["LIBRARIES"].splitlines():
        name, v = line.split()
        relate(program, "STATIC_LINK", package(name, v, f"pkg:deb/debian/{name}@{v}?arch={arch}"))

document = {
    "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
    "name": f"brig-{version}-{arch}",
    "creationInfo": {"creators": ["Tool: scripts/sbom.py"], "created": time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))},
    "packages": list(packages.values()), "relationships": relationships,
}
content = json.dumps(document, sort_keys=True).encode()
document["documentNamespace"] = "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(content).hexdigest()))
json.dump(document, sys.stdout, indent="\t")
print()
