/** A chat request, which each client sends through its own API. A missing field means the client's default. */
export interface ChatCall {
  readonly model: string;
  /** The turns so far, oldest first. The last is the user's. */
  readonly turns: readonly Turn[];
  readonly system?: string | undefined;
  /** The address of an image that the last turn shows. */
  readonly image?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called for each piece of a streamed response. */
  readonly onPiece?: ((text: string) => void) | undefined;
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** The part of a response that a client shows its user. */
interface Reply {
  readonly text: string;
  /** All tokens of the call. */
  readonly tokens?: number | undefined;
  readonly thinking?: string | undefined;
}

/** A call of a tool that the client hands to its user. */
interface Call {
  readonly name: string;
  readonly input: unknown;
}

/** A tool of the tests: a river in, an amount out. */
export interface RiverTool {
  readonly name: string;
  readonly description: string;
  readonly run: (river: string) => string;
}

/**
 * A client of other people, with the settings that the guide names. A method that is missing is a thing that the client
 * does not have.
 */
export interface Client {
  readonly complete: (call: ChatCall) => Promise<Reply>;
  readonly stream?: (call: ChatCall) => Promise<Reply>;
  /** Requests a call of one tool, and returns the call without running it. */
  readonly callTool?: (call: ChatCall, tool: RiverTool) => Promise<Call | undefined>;
  /** Lets the client run the tools until the last message. */
  readonly runTools?: (call: ChatCall, tools: readonly RiverTool[]) => Promise<Reply>;
  readonly streamTools?: (call: ChatCall, tools: readonly RiverTool[]) => Promise<Reply>;
  /** Requests an object of `riverSchema` as the client does by default. */
  readonly bySchema?: (call: ChatCall) => Promise<unknown>;
  /** Requests an object of `riverSchema` as the input of a tool. */
  readonly byTool?: (call: ChatCall) => Promise<unknown>;
  /** Requests an object of `riverSchema` in JSON mode, with the schema in the messages. */
  readonly byJSON?: (call: ChatCall) => Promise<unknown>;
  /** Requests with `functions`, the predecessor of tools. */
  readonly byFunctions?: (call: ChatCall) => Promise<unknown>;
  /** Draws, and returns the bytes or the address of each image. */
  readonly draw?: (
    model: string,
    prompt: string,
    count?: number,
  ) => Promise<readonly (Uint8Array | string)[]>;
  /** Sends the instructions as a `developer` message. */
  readonly asDeveloper?: (call: ChatCall) => Promise<Reply>;
  /** Requests several replies at once. */
  readonly several?: (call: ChatCall, count: number) => Promise<unknown>;
  /** Sends a request to the endpoint `/responses`. */
  readonly respond?: (call: ChatCall) => Promise<Reply>;
  readonly listModels?: () => Promise<unknown>;
}

/** Address and key that a client is given. */
export interface Access {
  readonly baseURL: string;
  readonly apiKey: string;
}

export type OpenClient = (access: Access) => Client;
