import { type AnyGatewayError, type APIError, isGatewayError } from "@sluice/core";

/** An error in a person's words. */
interface Explanation {
  readonly what: string;
  readonly todo: string;
}

/** Says what happened and what to do, for every kind of error that a chat can end with. */
export function explain(error: unknown): Explanation {
  if (!isGatewayError(error)) return isKept(error) ? kept : unexpected;
  switch (error.name) {
    case "APIError":
      return explainAnswer(error);
    case "ConnectionError":
      return explainConnection(error.outcome);
    case "TimeoutError":
      return error.phase === "chunk"
        ? { what: "The answer stopped coming.", todo: "Nothing was heard for too long. Try again." }
        : { what: "The answer took too long.", todo: "Try again, or choose a faster model or less effort." };
    case "StreamError":
      return explainStream(error.reason);
    case "ValidationError":
      return {
        what: "The model does not accept this request.",
        todo: `Nothing was sent. ${error.issues.map(({ path, message }) => `${path} ${message}`).join("; ")}.`,
      };
    case "ResponseError":
      return {
        what: "The gateway's answer could not be understood.",
        todo: "Try again; if it stays so, the gateway and this page are not of the same version.",
      };
    case "ConfigurationError":
      return { what: "This page is not set up rightly.", todo: `${error.message}.` };
    default:
      return unexpected;
  }
}

const unexpected: Explanation = {
  what: "Something went wrong that nobody foresaw.",
  todo: "Try again; if it stays so, the details below help to find out why.",
};

/** Of a gateway's error a storage keeps the name and the words, and not what they were made of. */
function isKept(error: unknown): boolean {
  return (
    error instanceof Error && /^(API|Connection|Timeout|Stream|Response|Validation)Error$/.test(error.name)
  );
}

const kept: Explanation = {
  what: "This answer failed.",
  todo: "That was before the page was loaded; the details below say why. Try again.",
};

/** The same whether it just happened or was kept. */
export const cutOff: Explanation = {
  what: "Cut off: the connection ended before the answer did.",
  todo: "What came is kept above. Try again for all of it.",
};

function explainAnswer({ status, message, retryAfterMs }: APIError): Explanation {
  switch (status) {
    case 400:
    case 422:
      return { what: "The gateway did not accept the request.", todo: `It says: ${message}` };
    case 401:
      return {
        what: "The gateway does not know who is asking.",
        todo: "Sign in again; if you run this page, check the key that the server adds.",
      };
    case 403:
      return {
        what: "This is not allowed here.",
        todo: "Choose another model, or ask whoever runs this page.",
      };
    case 404:
      return { what: "The gateway was not found there.", todo: "If you run this page, check its address." };
    case 413:
      return { what: "The conversation is too long to send.", todo: "Start a new chat." };
    case 429:
      return { what: "Too many requests.", todo: `${patience(retryAfterMs)}, then try again.` };
    default:
      return status >= 500
        ? { what: "The gateway is in trouble.", todo: "It was asked more than once. Try again in a while." }
        : { what: "The gateway refused.", todo: `It says: ${message}` };
  }
}

function patience(ms: number | undefined): string {
  if (ms === undefined) return "Wait a moment";
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  return `Wait ${seconds} ${seconds === 1 ? "second" : "seconds"}`;
}

function explainConnection(outcome: (AnyGatewayError & { name: "ConnectionError" })["outcome"]): Explanation {
  if (!navigator.onLine) return { what: "You are offline.", todo: "Connect to the network, then try again." };
  return outcome === "not-sent"
    ? { what: "The gateway can't be reached.", todo: "Nothing was sent. Check the network, then try again." }
    : { what: "The connection failed before an answer came.", todo: "Check the network, then try again." };
}

function explainStream(reason: (AnyGatewayError & { name: "StreamError" })["reason"]): Explanation {
  switch (reason) {
    case "truncated":
      return cutOff;
    case "malformed":
      return { what: "The answer became unreadable.", todo: "What came before is kept above. Try again." };
    case "server-error":
      return {
        what: "The gateway broke off with an error.",
        todo: "What came before is kept above. Try again.",
      };
  }
}
