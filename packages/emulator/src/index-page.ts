import { faultTables } from "./server/fault-tables.js";
import { createJSON, type HandlerResponse } from "./server/http.js";
import { listModelIds } from "./server/model-ids.js";

/** Handles `GET /`: lists the endpoints, models and faults. */
export function handleIndexPage(): HandlerResponse {
  const anything = "any JSON";
  return createJSON({
    name: "Sluice emulator",
    description:
      "An offline stand-in for the multi-model gateway. Nothing here reaches a network or costs money.",
    authentication: "Authorization: Bearer <API_KEY>",
    endpoints: {
      "POST /v1/chat/completions": listModelIds("chat"),
      "POST /v1/images/generations": listModelIds("image"),
      "POST /v1/video/generations": listModelIds("video"),
      "GET /v1/video/generations/{id}": "a task's state; for 24 hours",
      "POST /gamma/asset/CreateAsset": listModelIds("asset"),
      "POST /gamma/asset/GetAsset":
        "an asset's state, by { Id }; an example, since the gateway shows no lookup",
      "POST /epsilon/v1/videos/text2video": anything,
      "POST /epsilon/v1/videos/image2video": anything,
      "POST /epsilon/v1/videos/multi-image2video": anything,
      "GET /epsilon/v1/videos/{id}": "a task's state; for 24 hours",
      "GET /faults": "known faults of gateways, each served at its own address",
      "GET /journal": "the last requests with their results, without secrets",
      "GET /files/{name}": "a file of a result; without a key, until its address expires",
    },
    faults: Object.fromEntries(
      Object.entries(faultTables).map(([endpoint, faults]) => [endpoint, addBrackets(faults)]),
    ),
  });
}

function addBrackets(faults: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(faults).map(([name, effect]) => [`[[${name}]]`, effect]));
}
