import type { RouteGroup } from "../api/routes.js";
import { checkAddress } from "../checks/addresses.js";
import { applyCaps } from "../checks/caps.js";
import { chatModels } from "./spec-models.js";

const paths: RouteGroup["paths"] = () => [{ method: "POST", path: "/v1/chat/completions" }];

/**
 * Opens `POST /v1/chat/completions` for texts. It is the only group of routes by default. It refuses images, and
 * `max_tokens` is the only field that can have a cap.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, routes: [textChat, images] });
 * ```
 */
export const textChat: RouteGroup = { name: "chat", models: chatModels, paths };

/**
 * Opens `POST /v1/chat/completions` for texts and images, with caps on any field. `mediaURLs` bounds the addresses of
 * images.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, routes: [chat] });
 * ```
 */
export const chat: RouteGroup = { name: "chat", models: chatModels, paths, applyCaps, checkAddress };
