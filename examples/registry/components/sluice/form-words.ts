/*
 * The words of fields, and of the settings of a model. Each component has a prop `words` for its part; an app in another
 * language changes them here.
 */

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
  json: "JSON mode",
  advanced: "Advanced",
  instructions: "Instructions",
  instructionsHint: "The model reads them first.",
  instructionsExample: "You are brief.",
  auto: "Auto",
  none: "None",
};
