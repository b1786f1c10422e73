import type { Client } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import type { Tool } from "../base/tool.js";
import { assetCreate, assetStatus } from "./assets.js";
import { chatTool } from "./chat.js";
import { imageTool } from "./images.js";
import { videoStatus, videoTool, videoWait } from "./videos.js";

/** Ids of all models that have a tool. */
export const allModels: readonly string[] = Object.keys(models);

/** Makes the tools of the models that are wanted. */
export function toolsOf(client: Client, wanted: readonly string[]): Tool[] {
  const chosen = Object.values(models).filter(({ id }) => wanted.includes(id));
  const videos = chosen.flatMap((model) => (model.kind === "video" ? [videoTool(model.id)] : []));
  return [
    ...chosen.flatMap((model) => (model.kind === "chat" ? [chatTool(model.id)] : [])),
    ...chosen.flatMap((model) => (model.kind === "image" ? [imageTool(model.id)] : [])),
    ...videos,
    ...(videos.length > 0 ? [videoStatus, videoWait] : []),
    ...(wanted.includes("gamma-asset")
      ? [assetCreate, ...(client.gateway.assetLookup ? [assetStatus] : [])]
      : []),
  ];
}
