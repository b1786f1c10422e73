/** A prompt of the demo. The emulator has its response in `replies/`, or paints what the prompt describes. */
export interface DemoPrompt {
  /** Name of the prompt; of a chat, also the name of its response's file. */
  readonly id: string;
  readonly room: "chat" | "images" | "video";
  /** Two or three words for the card of an image or a video. */
  readonly title?: string;
  /** Text to send. */
  readonly prompt: string;
  /** Tool that the response calls. The request must offer it. */
  readonly tool?: "roll_dice" | "save_note" | "pick_color";
  /** True if an image must be attached. */
  readonly needsImage?: true;
  /** Id of the prompt that comes before, in the same chat. */
  readonly after?: string;
  /** Ratio that suits the image or video. */
  readonly ratio?: "1:1" | "3:4" | "4:3" | "16:9" | "9:16" | "21:9";
  /** Length of an image set. */
  readonly count?: number;
}

/** Prompts with a response. A page offers them in this order. */
export const demoPrompts: readonly DemoPrompt[] = [
  { id: "show-me", room: "chat", prompt: "Show me what you can do" },
  {
    id: "save-note",
    room: "chat",
    prompt: 'Keep a note: "Ask the lock keeper about the upper gate"',
    tool: "save_note",
  },
  {
    id: "roll-dice",
    room: "chat",
    prompt: "Roll three six-sided dice",
    tool: "roll_dice",
  },
  {
    id: "pick-color",
    room: "chat",
    prompt: "Help me choose a color for my boat",
    tool: "pick_color",
  },
  {
    id: "debounce",
    room: "chat",
    prompt: "Write a debounce function in TypeScript",
  },
  {
    id: "throttle",
    room: "chat",
    prompt: "Write throttle in the same style",
    after: "debounce",
  },
  { id: "quadratic", room: "chat", prompt: "Explain the quadratic formula" },
  { id: "canal-lock", room: "chat", prompt: "How does a canal lock work?" },
  { id: "sql-nosql", room: "chat", prompt: "Compare SQL and NoSQL" },
  {
    id: "small-steps",
    room: "chat",
    prompt: "Say 'small steps' in Chinese, Arabic and Hindi",
  },
  {
    id: "weekend",
    room: "chat",
    prompt: "Plan a quiet weekend in a town by a river",
  },
  {
    id: "server-sent-events",
    room: "chat",
    prompt: "How does streaming work here?",
  },
  {
    id: "picture",
    room: "chat",
    prompt: "What is in this picture?",
    needsImage: true,
  },
  {
    id: "mountains",
    room: "images",
    title: "Mountains at dawn",
    prompt: "Misty mountains at dawn, with a lake in the valley",
    ratio: "16:9",
  },
  {
    id: "reef",
    room: "images",
    title: "Under water",
    prompt: "A coral reef under water, with rays of sunlight",
    ratio: "4:3",
  },
  {
    id: "aurora",
    room: "images",
    title: "Northern lights",
    prompt: "Northern lights over snowy mountains",
    ratio: "3:4",
  },
  {
    id: "light",
    room: "images",
    title: "Portrait of light",
    prompt: "An abstract portrait of light in teal and coral",
    ratio: "1:1",
  },
  {
    id: "seasons",
    room: "images",
    title: "Four seasons",
    prompt: "One valley in four seasons",
    ratio: "4:3",
    count: 4,
  },
  {
    id: "waves",
    room: "video",
    title: "Sea at sunset",
    prompt: "Waves on the open sea at sunset",
    ratio: "16:9",
  },
  {
    id: "ridges",
    room: "video",
    title: "Over the ridges",
    prompt: "A slow flight past misty mountain ridges at dawn",
    ratio: "16:9",
  },
  {
    id: "night-sky",
    room: "video",
    title: "Aurora",
    prompt: "Northern lights over a frozen lake",
    ratio: "16:9",
  },
];
