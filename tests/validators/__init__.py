"""Judges for rendered resources, offline: CRDs with their CEL rules, Kubernetes, Helm values, AWS, IAM, whole graphs.

Every judge returns findings as sentences, an empty list when the object is right.
"""
