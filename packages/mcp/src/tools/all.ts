import type { Client } from "@sluice/core";
import { chatModels, imageModels, videoModels } from "@sluice/core/schemas";
import { assetCreate, assetStatus } from "./assets.js";
import { chatTool } from "./chat.js";
import { imageTool } from "./images.js";
import type { Tool } from "./tool.js";
import { videoStatus, videoTool, videoWait } from "./videos.js";

/** Ids of all models that have a tool. */
export const allModels: readonly string[] = [
  ...Object.keys(chatModels),
  ...Object.keys(imageModels),
  ...Object.keys(videoModels),
  "gamma-asset",
];

/** Makes the tools of the models that are wanted. */
export function toolsOf(client: Client, models: readonly string[]): Tool[] {
  const wanted = <Id extends string>(table: Readonly<Record<Id, unknown>>) =>
    (Object.keys(table) as Id[]).filter((id) => models.includes(id));
  const videos = wanted(videoModels).map(videoTool);
  return [
    ...wanted(chatModels).map(chatTool),
    ...wanted(imageModels).map(imageTool),
    ...videos,
    ...(videos.length > 0 ? [videoStatus, videoWait] : []),
    ...(models.includes("gamma-asset")
      ? [assetCreate, ...(client.gateway.assetLookup ? [assetStatus] : [])]
      : []),
  ];
}
