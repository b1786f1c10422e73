import type { Client } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { assetCreate, assetStatus } from "./assets.js";
import { chatTool } from "./chat.js";
import { imageTool } from "./images.js";
import type { Tool } from "./tool.js";
import { videoStatus, videoTool, videoWait } from "./videos.js";

/** Ids of all models that have a tool. */
export const allModels: readonly string[] = Object.keys(models);

/** Makes the tools of the models that are wanted. */
export function toolsOf(client: Client, wanted: readonly string[]): Tool[] {
  const tools = Object.values(models).flatMap((model): Tool[] => {
    if (!wanted.includes(model.id)) return [];
    if (model.kind === "chat") return [chatTool(model.id)];
    if (model.kind === "image") return [imageTool(model.id)];
    if (model.kind === "video") return [videoTool(model.id)];
    return [assetCreate, ...(client.gateway.assetLookup ? [assetStatus] : [])];
  });
  const hasVideos = Object.values(models).some(({ id, kind }) => kind === "video" && wanted.includes(id));
  return [...tools, ...(hasVideos ? [videoStatus, videoWait] : [])];
}
