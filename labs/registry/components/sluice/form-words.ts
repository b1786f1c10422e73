/* The words of fields, of the settings of a model, and of the forms of images and videos. */

/** Words of the buttons of a number. */
export const numberWords = { less: "Less", more: "More" };

/** Words of the choice of a model. */
export const modelWords = {
  model: "Model",
  seesImages: "Sees images",
  callsTools: "Calls tools",
  thinks: "Thinks",
};

/** Words of the settings of a model. */
export const settingsWords = {
  tools: "Tools",
  toolsUnlisted: "This model may ignore tools.",
  wantsJSON: "JSON mode",
  advanced: "Advanced",
  instructions: "Instructions",
  instructionsHint: "The model reads them first.",
  instructionsExample: "You are brief.",
  auto: "Auto",
  none: "None",
};

/** Words of the form of an image or a video. */
export const formWords = {
  shape: "Shape",
  resolution: "Resolution",
  options: "Options",
  more: "More settings",
  auto: "Auto",
  autoLength: "Auto length",
  seconds: (count: number) => `${count} s`,
};

/** Words for the problems of a field and of its files. */
export const problemWords = {
  promptOrImage: "Add a prompt or an image.",
  prompt: "Add a prompt.",
  firstFrame: "Add a first frame, too.",
  imageForSound: "Add an image or a video, too.",
  oneImage: "Use one image.",
  videoSeconds: "All videos: 15 s at most.",
  soundSeconds: "All sounds: 15 s at most.",
  allSeconds: "Video and references: 30 s at most.",
  notTaken: "This model does not accept this.",
  tooLarge: "This file is too large.",
  wrongSize: "This image has the wrong size.",
  fileSeconds: "It must last 1 to 15 seconds.",
  unusable: "This file can't be used.",
  publicLink: "Use a public link: https://…",
  link: "Use a link: https://…",
  text: "Add a text.",
  otherValue: "Choose another value.",
  wholeNumber: "Use a whole number.",
  characters: (max: number) => `At most ${max} characters.`,
  between: (min: number, max: number, unit: string) => `From ${min} to ${max} ${unit}`.trim(),
  atLeast: (min: number) => `At least ${min}.`,
};
