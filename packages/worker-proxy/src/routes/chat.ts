import type { RouteGroup } from "../api/routes.js";
import { chatModels } from "./spec-models.js";

/** `POST /v1/chat/completions`: the routes of a proxy by default. */
export const chat: RouteGroup = {
  name: "chat",
  models: chatModels,
  paths: () => [{ method: "POST", path: "/v1/chat/completions" }],
};
