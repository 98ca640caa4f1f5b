"""Names of the parsers in Dynamo's own library."""

import json

from dynamo import _core

found = {"tool": _core.get_tool_parser_names(), "reasoning": _core.get_reasoning_parser_names()}
print("ANSWERS" + json.dumps(found))
