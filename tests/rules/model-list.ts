import type { ChatModel, VideoModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";

/** Lists the models in Markdown, from the tables of the core: their ids, and what distinguishes them. */
export function listModels(): string {
  const lines = Object.values(models).flatMap((model) => {
    const id = code(model.id);
    if (model.kind === "chat") return `- chat, ${id}: ${describeChat(model.id)}`;
    if (model.kind === "image") return `- images, ${id}: ${model.sizes.length} sizes`;
    return model.kind === "video" ? `- videos, ${id}: ${describeVideo(model.id)}` : [];
  });
  return lines.join("\n");
}

function describeChat(id: ChatModel): string {
  const { thinking, tools, seesImages, jsonMode, maxTokens } = models[id];
  const thinks =
    thinking.length > 1 ? "thinking on or off" : thinking.length === 1 ? "always thinks" : "no thinking";
  const hasTools = tools === true ? "tools" : tools ? "tools that the spec does not list" : "no tools";
  return [
    thinks,
    hasTools,
    seesImages ? "sees images" : "text only",
    jsonMode ? "JSON mode" : "no JSON mode",
    `\`max_tokens\` up to ${maxTokens.toLocaleString("en-US")}`,
  ].join(", ");
}

function describeVideo(id: VideoModel): string {
  const { duration, resolutions } = models[id];
  return `${duration.min} to ${duration.max} seconds, ${resolutions.map(code).join(" ")}`;
}

function code(text: string): string {
  return `\`${text}\``;
}
