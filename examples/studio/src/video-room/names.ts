import type { MediaKind, SwitchName } from "./offer.js";

/** What a form calls the gateway's words. */
export const mediaNames: Readonly<Record<MediaKind, string>> = {
  first_frame: "First frame",
  last_frame: "Last frame",
  reference_image: "Reference images",
  reference_video: "Reference videos",
  reference_audio: "Reference sounds",
  file: "Document",
  link: "Web page",
};

export const switchNames: Readonly<Record<SwitchName, string>> = {
  audio: "Sound",
  generate_audio: "Sound",
  prompt_extend: "Let the model extend the prompt",
  camera_fixed: "Hold the camera still",
  return_last_frame: "Give the last frame too",
  web_search: "Search the web",
  watermark: "Watermark",
};
