"""Headwater: LLM serving on EKS from one stack file."""
