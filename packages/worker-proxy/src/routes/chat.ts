import type { RouteGroup } from "../api/routes.js";
import { chatModels } from "./spec-models.js";

/**
 * Opens `POST /v1/chat/completions`. It is the only group of routes by default.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, routes: [chat] });
 * ```
 */
export const chat: RouteGroup = {
  name: "chat",
  models: chatModels,
  paths: () => [{ method: "POST", path: "/v1/chat/completions" }],
};
