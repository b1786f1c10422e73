import { assetRules } from "./assets.ts";
import { chatRules } from "./chat.ts";
import { imageRules } from "./images.ts";
import type { Rule } from "./rule.ts";
import { videoRules } from "./videos.ts";

/** Every rule of the spec that can be checked before sending. */
export const allRules: readonly Rule[] = [...chatRules, ...imageRules, ...videoRules, ...assetRules];
