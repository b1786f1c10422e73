import { quoteName } from "@/components/sluice/format";

/* The words of the components for images and videos. */

/** Words of a frame whose image or video can't be shown. */
export const frameWords = {
  unloadable: "Could not load",
  unshowable: { image: "Can't show here", video: "Can't play here", preview: "Can't show here" },
  gone: { image: "No longer available", video: "No longer available", preview: "No preview" },
  download: "Download",
  retry: "Try again",
};

/** Words for a failed download. */
export const downloadWords = { failed: "Not downloaded. Try again.", expired: "No longer available" };

/** Words of the images on a wall. */
export const imageWords = {
  ofSet: (prompt: string, number: number) => `${prompt} (${number})`,
  open: (prompt: string) => `Open ${prompt}`,
  openItem: "Open",
  failed: "This image failed",
  generating: "Generating",
  pending: (time: string) => `Generating · ${time}`,
  stop: "Stop",
  download: "Download",
  actions: "Actions",
  remove: "Delete",
  images: "Images",
  notFinished: "It did not finish. You may have been charged.",
  retry: "Try again",
  reuse: "Reuse settings",
  removed: "Image deleted",
  copyPrompt: "Copy prompt",
  copied: "Prompt copied",
};

/** Words of the form of an image or a video. */
export const mediaFormWords = {
  prompt: "Prompt",
  model: "Model",
  settings: "Settings",
  auto: "Auto",
  images: (count: number) => `${count} images`,
  generate: "Generate",
  generating: "Generating…",
  noneBilled: "Nothing was billed.",
  retry: "Try again",
  retryLost: "Retry anyway",
  dismiss: "Dismiss",
  add: (label: string) => `Add: ${label}`,
  choose: "Choose files",
  files: (label: string) => `${label}: files`,
  link: (label: string) => `${label}: link`,
  addLink: "Add",
  remove: (label: string) => `Remove ${label}`,
  more: "References",
  adding: "Adding…",
  refused: (name: string) => `${quoteName(name)} can't be used here.`,
  tooMany: (max: number) => `Only ${max} can be used.`,
};

/** Words of an image that is registered at the gateway. */
export const assetWords = {
  states: {
    sending: "Sending",
    unsent: "Not added",
    preparing: "Preparing",
    ready: "Ready",
    failed: "Failed",
    unknown: "Unknown",
  },
  refused: "This image can't be used. Choose another one.",
  lost: "No response came back.",
  charged: "You may have been charged.",
  retry: "Try again",
  retryLost: "Retry anyway",
  check: "Check again",
  copy: "Copy URI",
  copied: "URI copied",
  remove: "Delete",
};

/** Words of the card of a video. */
export const videoWords = {
  states: { running: "Making your video", done: "Done", failed: "Failed", unknown: "Unknown" },
  progress: {
    starting: (time: string) => `Starting · ${time}`,
    making: (time: string) => `Making your video · ${time}`,
    late: (time: string) => `Still working · ${time}`,
    left: (time: string) => `About ${time} left`,
    almost: "Almost done",
    finishing: "Finishing…",
  },
  label: "Progress",
  offline: (isCreated: boolean) => (isCreated ? "Offline. It continues later." : "Offline"),
  failed: "The video failed",
  failedHint: "Change the prompt, then try again.",
  edit: "Edit and retry",
  lost: "No response came back",
  lostHint: "You may have been charged. A retry may cost twice.",
  retryLost: "Retry anyway",
  check: "Check again",
  link: (left: string) => `Saved link · ${left}`,
  play: (label: string) => `Play ${label}`,
  download: "Download",
  lastFrame: "Last frame",
  reuse: "Reuse settings",
  remove: "Delete",
  removeTitle: "Delete this video?",
  removeRunning: "It is still being made. You may still pay for it.",
  keep: "Keep",
};
