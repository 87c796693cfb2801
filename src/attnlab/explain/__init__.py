"""The attention walkthrough of `attnlab explain`: one worked example, or trained runs on one sentence."""
