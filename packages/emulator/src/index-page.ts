import { chatModels } from "@sluice/core/schemas";
import { scenes } from "./chat/scenes.js";
import { type Answer, json } from "./http.js";

/** What `GET /` says, to whoever opens the address in a browser. */
export function indexPage(): Answer {
  return json({
    name: "Sluice emulator",
    description:
      "An offline stand-in for the multi-model gateway. Nothing here reaches a network or costs money.",
    authentication: "Authorization: Bearer <API_KEY>",
    endpoints: { "POST /v1/chat/completions": Object.keys(chatModels) },
    scenes: Object.fromEntries(Object.entries(scenes).map(([name, effect]) => [`[[${name}]]`, effect])),
  });
}
