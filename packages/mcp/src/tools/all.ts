import type { Client } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import type { Tool } from "../base/tool.js";
import { assetCreate, assetStatus } from "./assets.js";
import { createChatTool } from "./chat.js";
import { createImageTool } from "./images.js";
import { createVideoTool, videoStatus, videoWait } from "./videos.js";

/** Ids of all models that have a tool. */
export const allModels: readonly string[] = Object.keys(models);

/** Creates the tools of the wanted models. */
export function createTools(client: Client, wanted: readonly string[]): Tool[] {
  const chosen = Object.values(models).filter(({ id }) => wanted.includes(id));
  const videos = chosen.flatMap((model) => (model.kind === "video" ? [createVideoTool(model.id)] : []));
  return [
    ...chosen.flatMap((model) => (model.kind === "chat" ? [createChatTool(model.id)] : [])),
    ...chosen.flatMap((model) => (model.kind === "image" ? [createImageTool(model.id)] : [])),
    ...videos,
    ...(videos.length > 0 ? [videoStatus, videoWait] : []),
    ...(wanted.includes("gamma-asset")
      ? [assetCreate, ...(client.gateway.assetLookup ? [assetStatus] : [])]
      : []),
  ];
}
