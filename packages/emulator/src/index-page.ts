import { assetFaults } from "./assets/faults.js";
import { chatFaults } from "./chat/faults.js";
import { epsilonFaults } from "./epsilon/faults.js";
import { imageFaults } from "./images/faults.js";
import { type Answer, json } from "./server/http.js";
import { modelIds } from "./server/model-ids.js";
import { videoFaults } from "./videos/faults.js";

/** Answers `GET /` with the endpoints, models and faults. */
export function indexPage(): Answer {
  const anything = "any JSON";
  return json({
    name: "Sluice emulator",
    description:
      "An offline stand-in for the multi-model gateway. Nothing here reaches a network or costs money.",
    authentication: "Authorization: Bearer <API_KEY>",
    endpoints: {
      "POST /v1/chat/completions": modelIds("chat"),
      "POST /v1/images/generations": modelIds("image"),
      "POST /v1/video/generations": modelIds("video"),
      "GET /v1/video/generations/{id}": "a task's state; for 24 hours",
      "POST /gamma/asset/CreateAsset": modelIds("asset"),
      "POST /gamma/asset/GetAsset":
        "an asset's state, by { Id }; an example, since the gateway shows no lookup",
      "POST /epsilon/v1/videos/text2video": anything,
      "POST /epsilon/v1/videos/image2video": anything,
      "POST /epsilon/v1/videos/multi-image2video": anything,
      "GET /epsilon/v1/videos/{id}": "a task's state; for 24 hours",
      "GET /journal": "the last requests with their results, without secrets",
      "GET /files/{name}": "what the answers hold addresses of; without a key, until the address expires",
    },
    faults: {
      chat: written(chatFaults),
      images: written(imageFaults),
      videos: written(videoFaults),
      assets: written(assetFaults),
      epsilon: written(epsilonFaults),
    },
  });
}

function written(faults: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(faults).map(([name, effect]) => [`[[${name}]]`, effect]));
}
