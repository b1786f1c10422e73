/**
 * Replies to the questions in the docs, the README files and the templates. Readers try those first, and an unrelated
 * reply makes the client look broken.
 */
const replies: readonly (readonly [question: RegExp, reply: string])[] = [
  [
    /\bsky\b.*\bblue\b/i,
    "The sky is blue because air scatters sunlight. Sunlight has all colors, and the molecules of the air scatter blue light far more than red light. So blue light reaches your eyes from every part of the sky. In the evening the light takes a longer way through the air, most of its blue is lost, and the sky turns red.",
  ],
  [
    /\b(?:sea|ocean|water)\b.*\bblue\b/i,
    "The sea is blue because water absorbs red light more than blue light. In a glass you can't see that, but in many meters of water mostly blue light is left. The sea also reflects the sky, and algae or sand can make it green or brown.",
  ],
  [
    /\b(?:sea|ocean)\b/i,
    "The sea covers about seven tenths of the Earth, and is about 3,700 meters deep on average. Its deepest known place is the Challenger Deep in the Mariana Trench, almost 11,000 meters below the surface.",
  ],
  [
    /\bElbe\b/i,
    "The Elbe rises in the Giant Mountains of the Czech Republic. It is about 1,100 kilometers long, flows through Dresden, Magdeburg and Hamburg, and ends in the North Sea. Above Hamburg it is often only a few meters deep. Below Hamburg a channel is kept deep enough for large ships.",
  ],
  [
    /\brivers\b.*\bPortugal\b|\bPortugal\b.*\brivers\b/i,
    "The longest rivers of Portugal are the Tagus, which reaches the sea at Lisbon, and the Douro, which reaches it at Porto. Both rise in Spain. The Mondego is the longest river that is in Portugal alone.",
  ],
  [
    /\brivers?\b/i,
    "A river begins at a spring, a lake or a glacier, and flows downhill until it reaches the sea, a lake or another river. On its way it takes up other rivers. It carries sand and stones, cuts valleys, and builds new land where it slows down.",
  ],
  [
    /\btea\b/i,
    "All tea comes from the leaves of one plant, Camellia sinensis. Green tea is heated soon after the harvest, and black tea is left to oxidize first. For a pot of tea for two, take two spoons of leaves and half a liter of hot water, and wait for three minutes.",
  ],
  [
    /\breefs?\b/i,
    "The Great Barrier Reef is the largest coral reef of the world. It lies off the coast of Queensland in Australia and is about 2,300 kilometers long. Tiny animals, the corals, have built it from lime.",
  ],
  [
    /\bcanal\b.*\block\b|\block\b.*\bcanal\b/i,
    "A canal lock is a chamber between two levels of water, with a gate at each end. A boat enters at one level, and the gate closes behind it. Then water flows in or out until the chamber has the other level, and the other gate opens. No pump is needed, because the water flows downhill by itself.",
  ],
  [
    /\bstreaming\b|\bserver-sent events\b/i,
    "The gateway sends a message as server-sent events: one HTTP response that stays open, with a small piece of JSON in each event. The client adds the pieces to the message as they come. The event [DONE] ends the stream.",
  ],
  [
    /\bquadratic formula\b/i,
    "The quadratic formula solves the equation ax² + bx + c = 0. Its solutions are x = (−b ± √(b² − 4ac)) / 2a. The part under the root, b² − 4ac, tells how many real solutions there are: two if it is positive, one if it is zero, and none if it is negative.",
  ],
  [
    /\bSQL\b.*\bNoSQL\b/i,
    "SQL databases keep data in tables with a fixed schema, and join them by one query language. NoSQL databases keep documents, keys or graphs without a fixed schema. Take SQL where data is related and must be consistent, and NoSQL where its shape varies or one table is too large for one machine.",
  ],
  [
    /\bhello\b.*\bhindi\b|\bhindi\b.*\bhello\b/i,
    "Hello in Hindi is नमस्ते, which is said “namaste”. It fits at every time of the day.",
  ],
  [
    /\b(?:weather|rain|warm|sunny)\b/i,
    "The weather is not known here: it takes a tool to look it up. Offer the model a tool such as get_weather, and write “use get_weather” into the message.",
  ],
];

/** Matches a question. Other prompts request a title, a poem or a summary. */
const QUESTION =
  /\?$|^(?:tell|explain|describe|name|say|compare|how|why|what|where|which|will|is|are|the|tea)\b/i;

/** Returns the reply to a question of the docs, or undefined for any other text. */
export function findKnownReply(prompt: string): string | undefined {
  if (!QUESTION.test(prompt)) return undefined;
  return replies.find(([question]) => question.test(prompt))?.[1];
}
