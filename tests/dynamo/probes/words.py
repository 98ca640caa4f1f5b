"""Names of the parsers in Dynamo's own library, and of the kinds of error its frontend counts."""

import json

from dynamo import _core
from dynamo.prometheus_names import frontend_service

errors = [value for name, value in vars(frontend_service.error_type).items() if name.isupper()]
found = {"tool": _core.get_tool_parser_names(), "reasoning": _core.get_reasoning_parser_names(), "errors": errors}
print("ANSWERS" + json.dumps(found))
