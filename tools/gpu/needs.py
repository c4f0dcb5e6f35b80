"""What a launch needs that the CUDA driver gives no plain launch. Nothing here knows a driver."""
import re

# Variables and parameters of opaque types.
REFERENCES = re.compile(r"\.(?:global|param)\s+\.(?:texref|samplerref|surfref)\b")


def kernel(text, entry):
    """The text of one kernel, and what follows it up to the next."""
    parts = re.split(r"(?m)^[^\n]*\.entry\s+", text)
    return next((part for part in parts[1:] if re.match(re.escape(entry) + r"\b", part)), "")


def lacking(launch, text=""):
    """Why a launch cannot be made, as text, or None; `text` is its PTX, where that is at hand."""
    arguments = [*launch["args"], *launch.get("bind", {}).values()]
    if any(argument.get("texture", {}).get("samples", 1) > 1 for argument in arguments):
        return "CUDA has no textures of several samples"
    # The driver of CUDA 13.0 loads no module with such variables or parameters, whoever compiled it.
    if launch.get("bind") or REFERENCES.search(text):
        return "the driver knows no texture, sampler and surface references"
    if any("sampler" in argument for argument in arguments):
        return "the driver makes no samplers apart from textures"
    if "multimem." in kernel(text, launch["entry"]):
        return "multimem needs a multicast object"
    return None
