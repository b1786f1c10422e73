import type { ChatMessage, ChatStatus, ChatToolCall } from "@sluice/react";

/*
 * The words of the components. An app in another language changes them in its copy. The words of errors come from
 * `describeError` of `@sluice/react`.
 */

/** Words of what opens above the page. */
export const popupWords = { menu: "Menu", list: "List", close: "Close" };

/** Words of the buttons of a toast. */
export const toastWords = { undo: "Undo", dismiss: "Dismiss" };

/** Words around a message. */
export const messageWords = {
  user: "You",
  userMessage: "Your message",
  assistant: "Assistant",
  assistantMessage: "Assistant's message",
  video: "Video in the message",
  images: "Images",
  openImage: (number: number) => `Open image ${number}`,
  image: (number: number) => `Image ${number}`,
  attachment: (number: number) => `Attachment ${number}`,
  copy: "Copy",
  copyMessage: "Copy message",
  copied: "Copied",
  edit: "Edit",
  editMessage: "Edit your message",
  cancel: "Cancel",
  send: "Send",
  showMore: "Show more",
  showLess: "Show less",
};

/** Words of the arrows between the versions of a message. */
export const branchWords = { previous: "Previous version", next: "Next version" };

/** Words of the composer. */
export const composerWords = {
  message: "Message",
  placeholder: "Ask anything",
  send: "Send",
  queue: "Queue",
  stop: "Stop",
  stopKeys: "Esc",
  queued: "Queued messages",
  onlyImages: "Images",
  remove: (text: string) => `Remove “${text}”`,
  continue: "Continue",
};

/** Words of the images that go with a message. */
export const attachmentWords = {
  drop: "Drop images here",
  add: "Add images",
  field: "Images",
  list: "Images to send",
  remove: (name: string) => `Remove ${name}`,
  dismiss: "Dismiss",
  seesNoImages: (model: string) => `${model} can't see images.`,
  switchTo: (model: string) => `Switch to ${model}`,
};

/** The state of a tool call. */
export const toolStates: Readonly<Record<ChatToolCall["state"], string>> = {
  streaming: "Writing…",
  "needs-approval": "Needs your approval",
  "needs-output": "Needs your input",
  running: "Running…",
  done: "Done",
  failed: "Failed",
  denied: "Denied",
  cancelled: "Cancelled",
};

/** Words of a tool call. */
export const toolWords = {
  states: toolStates,
  arguments: "Arguments",
  result: "Result",
  error: "Error",
  approve: "Approve",
  deny: "Deny",
};

/** Words of the steps before a response. */
export const stepWords = {
  states: toolStates,
  thinking: "Thinking…",
  reasoning: "Reasoning",
  doing: (tool: string) => `${tool}…`,
  steps: (count: number) => `${count} ${count === 1 ? "step" : "steps"}`,
};

/** Reasons why a response is incomplete. A complete response, and a response with an error, have none. */
export const outcomeWords: { readonly [Outcome in NonNullable<ChatMessage["outcome"]>]?: string } = {
  length: "The response reached its length limit.",
  stopped: "Stopped",
  unconfirmed: "The response may be incomplete.",
  "step-limit": "The step limit was reached.",
  "content-filter": "The rest was removed by a filter.",
  "insufficient-resource": "The model ran out of capacity.",
};

/** Words at the end of a response. */
export const endingWords = {
  outcomes: outcomeWords,
  noReply: "No response yet",
  retry: "Try again",
  retryIn: (seconds: number) => `Try again (${seconds} s)`,
  continue: "Continue",
  silence: (ms: number) => `No new text for ${Math.floor(ms / 1000)} s. Wait, or stop it.`,
};

/** The state of a chat, for screen readers, which are not told every word. */
export const statusWords: Readonly<Record<ChatStatus | "complete", string>> = {
  submitted: "Waiting for the response…",
  streaming: "Responding…",
  "requires-action": "The model waits for you.",
  error: "",
  ready: "",
  complete: "The response is complete.",
};

/** Words of a whole chat. */
export const chatWords = {
  messages: "Messages",
  regenerate: "Regenerate",
  details: "Details",
  status: statusWords,
};

/** Words of the list of conversations. */
export const conversationWords = {
  days: {
    pinned: "Pinned",
    today: "Today",
    yesterday: "Yesterday",
    lastDays: "Last 7 days",
    older: "Older",
  },
  /** State of a conversation. */
  states: {
    ready: "",
    responding: "Responding",
    "responding-elsewhere": "Responding in another tab",
    "requires-action": "Waits for you",
    error: "Failed",
  },
  untitled: "New chat",
  title: "Title",
  actions: (title: string) => `Actions for ${title}`,
  rename: "Rename",
  pin: "Pin",
  unpin: "Unpin",
  remove: "Delete",
};

/** Words about other devices, and about what the server has. */
export const deviceWords = {
  elsewhere: "Responding elsewhere",
  stop: "Stop",
  syncing: "Not sent yet",
  unsaved: (count: number) => `${count} ${count === 1 ? "message is" : "messages are"} not saved.`,
  unsavedHint: "Keep this page open: it tries again by itself.",
};

/** Words of costs. */
export const costWords = {
  title: "Cost",
  orMore: (amount: string) => `${amount} or more`,
  range: (amounts: readonly string[]) => amounts.join(" to "),
  later: "Known afterwards",
};

/** Words of the parts of a response: code, formulas and images. */
export const markdownWords = {
  /** Name of a block of code in a language. */
  code: (language: string) => `Code: ${language}`,
  /** Language of a block that names none. */
  noLanguage: "text",
  wrap: "Wrap lines",
  /** Name of a formula that is still loading. */
  formula: "Formula",
  /** Button that loads an image of another server; undefined where the address names none. */
  showImage: (host: string | undefined) => (host ? `Show image from ${host}` : "Show image"),
};
