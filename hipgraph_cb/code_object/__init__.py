"""Bytes become a `VerifiedExecutable`. Pure: no GPU library is imported here."""
