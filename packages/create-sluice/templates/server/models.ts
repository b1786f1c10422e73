/**
 * The models of this app. The first one is preselected. The page offers them, and the server allows no others.
 * `max_tokens` limits the length of a reply, and so its price.
 */
export const models = {
  "alpha-v4.1-flash": { max_tokens: 8192 },
  "gamma-chat-1-6-251015": { max_tokens: 8192 },
  "delta-5.3": { max_tokens: 8192 },
} as const;

type Model = keyof typeof models;

/** The names of the models, for the page. */
export const modelNames = Object.keys(models) as [Model, ...Model[]];
