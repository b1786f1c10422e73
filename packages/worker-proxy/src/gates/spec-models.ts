// Written by `scripts/spec-models.ts` from the schemas and the models of @sluice/core: not changed by hand.
import type { SpecModel } from "./spec-model.js";

/** The ids of these models. */
export type SpecModelId =
  | "alpha-v4.1-flash"
  | "gamma-chat-1-6-251015"
  | "delta-5.3"
  | "gamma-image-4-0-250828"
  | "gamma-image-5-0-260128"
  | "beta3.0-video"
  | "beta3.0-video-prime"
  | "gamma-video-1-5-pro-251215"
  | "gamma-video-1-0-pro-fast-251015"
  | "gamma-video-2.0"
  | "gamma-video-fast"
  | "gamma-asset";

/** The models of the spec, and the fields of their requests. */
export const specModels: Readonly<Record<string, SpecModel>> = {
  "alpha-v4.1-flash": {
    route: "chat",
    maxTokens: 393216,
    usageOnRequest: true,
    fields: {
      model: "value",
      messages: [
        {
          role: "value",
          content: [
            { "": "value", type: "value", text: "value", image_url: { url: "file", detail: "value" } },
          ],
          name: "value",
          reasoning_content: "value",
          tool_call_id: "value",
          tool_calls: [{ id: "value", type: "value", function: { name: "value", arguments: "value" } }],
        },
      ],
      thinking: { type: "value" },
      reasoning_effort: "value",
      max_tokens: "value",
      response_format: { type: "value" },
      stop: ["value"],
      stream: "value",
      stream_options: { include_usage: "value" },
      temperature: "value",
      top_p: "value",
      tools: [
        {
          type: "value",
          function: { name: "value", description: "value", parameters: "json", strict: "value" },
        },
      ],
      tool_choice: { "": "value", type: "value", function: { name: "value" } },
      frequency_penalty: "value",
      presence_penalty: "value",
      user_id: "value",
    },
  },
  "gamma-chat-1-6-251015": {
    route: "chat",
    maxTokens: 8192,
    fields: {
      model: "value",
      messages: [
        {
          role: "value",
          content: [{ "": "value", type: "value", text: "value" }],
          name: "value",
          reasoning_content: "value",
          tool_call_id: "value",
          tool_calls: [{ id: "value", type: "value", function: { name: "value", arguments: "value" } }],
        },
      ],
      max_tokens: "value",
      temperature: "value",
      top_p: "value",
      frequency_penalty: "value",
      presence_penalty: "value",
      stream: "value",
      stream_options: { include_usage: "value" },
      stop: "value",
    },
  },
  "delta-5.3": {
    route: "chat",
    maxTokens: 131072,
    fields: {
      model: "value",
      messages: [
        {
          role: "value",
          content: [{ "": "value", type: "value", text: "value" }],
          name: "value",
          reasoning_content: "value",
          tool_call_id: "value",
          tool_calls: [{ id: "value", type: "value", function: { name: "value", arguments: "value" } }],
        },
      ],
      thinking: { type: "value" },
      reasoning_effort: "value",
      max_tokens: "value",
      temperature: "value",
      top_p: "value",
      stop: ["value"],
      stream: "value",
      stream_options: { include_usage: "value" },
      tools: [
        {
          type: "value",
          function: { name: "value", description: "value", parameters: "json", strict: "value" },
        },
      ],
      tool_choice: { "": "value", type: "value", function: { name: "value" } },
    },
  },
  "gamma-image-4-0-250828": {
    route: "images",
    fields: {
      model: "value",
      prompt: "value",
      image: ["file"],
      sequential_image_generation: "value",
      sequential_image_generation_options: { max_images: "value" },
      watermark: "value",
      seed: "value",
      logo_info: { add_logo: "value", position: "value", language: "value", opacity: "value" },
      size: "value",
    },
  },
  "gamma-image-5-0-260128": {
    route: "images",
    fields: {
      model: "value",
      prompt: "value",
      image: ["file"],
      sequential_image_generation: "value",
      sequential_image_generation_options: { max_images: "value" },
      watermark: "value",
      seed: "value",
      logo_info: { add_logo: "value", position: "value", language: "value", opacity: "value" },
      size: "value",
    },
  },
  "beta3.0-video": {
    route: "videos",
    fields: {
      model: "value",
      input: { prompt: "value", media: [{ type: "value", url: "file" }] },
      parameters: {
        resolution: "value",
        ratio: "value",
        duration: "value",
        audio: "value",
        prompt_extend: "value",
        seed: "value",
        watermark: "value",
      },
    },
  },
  "beta3.0-video-prime": {
    route: "videos",
    fields: {
      model: "value",
      input: { prompt: "value", media: [{ type: "value", url: "file" }] },
      parameters: {
        resolution: "value",
        ratio: "value",
        duration: "value",
        audio: "value",
        prompt_extend: "value",
        seed: "value",
        watermark: "value",
      },
    },
  },
  "gamma-video-1-5-pro-251215": {
    route: "videos",
    fields: {
      model: "value",
      ratio: "value",
      generate_audio: "value",
      resolution: "value",
      duration: "value",
      seed: "value",
      watermark: "value",
      content: [{ type: "value", text: "value", image_url: { url: "file" }, role: "value" }],
      camera_fixed: "value",
    },
  },
  "gamma-video-1-0-pro-fast-251015": {
    route: "videos",
    fields: {
      model: "value",
      resolution: "value",
      duration: "value",
      seed: "value",
      watermark: "value",
      content: [{ type: "value", text: "value", image_url: { url: "file" }, role: "value" }],
      camera_fixed: "value",
      ratio: "value",
    },
  },
  "gamma-video-2.0": {
    route: "videos",
    fields: {
      model: "value",
      content: [
        {
          type: "value",
          text: "value",
          image_url: { url: "asset" },
          role: "value",
          video_url: { url: "file" },
          audio_url: { url: "file" },
        },
      ],
      generate_audio: "value",
      ratio: "value",
      duration: "value",
      tools: [{ type: "value" }],
      watermark: "value",
      seed: "value",
      camera_fixed: "value",
      resolution: "value",
      return_last_frame: "value",
    },
  },
  "gamma-video-fast": {
    route: "videos",
    fields: {
      model: "value",
      content: [
        {
          type: "value",
          text: "value",
          image_url: { url: "asset" },
          role: "value",
          video_url: { url: "file" },
          audio_url: { url: "file" },
        },
      ],
      generate_audio: "value",
      ratio: "value",
      duration: "value",
      tools: [{ type: "value" }],
      watermark: "value",
      seed: "value",
      camera_fixed: "value",
      resolution: "value",
    },
  },
  "gamma-asset": {
    route: "assets",
    fields: { model: "value", GroupId: "value", Name: "value", AssetType: "value", URL: "file" },
  },
};
