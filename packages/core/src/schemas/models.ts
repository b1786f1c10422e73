import { type ChatModel, chatModels } from "../types/chat-models.js";
import { type AssetModel, type ImageModel, mediaModels, type VideoModel } from "../types/media-models.js";

/** The fields of a row, with its literal values and the docs of `Info`, which editors show for each model. */
type Documented<Info, Values> = {
  readonly [Name in keyof Info as Name extends keyof Values ? Name : never]-?: DocumentedValue<
    Info[Name],
    Values[Name & keyof Values]
  >;
} & Omit<Values, keyof Info>;

/** The value of a field. The bounds of a range, such as `duration`, have docs too. */
type DocumentedValue<Info, Value> = Value extends { readonly min: number }
  ? Documented<NonNullable<Info>, Value>
  : Value;

interface Infos {
  readonly chat: ChatRow;
  readonly image: ImageRow;
  readonly video: VideoRow;
  readonly asset: AssetRow;
}

type Tables = { readonly chat: typeof chatModels } & typeof mediaModels;
type Kind = keyof Tables;

type Rows<Of extends Kind> = {
  readonly [Id in keyof Tables[Of]]: Documented<
    Of extends keyof Infos ? Infos[Of] : Row<string, Of>,
    { id: Id; kind: Of } & Tables[Of][Id]
  >;
};

// editors find the docs of a model in an intersection of tables
type Models = UnionToIntersection<{ [Of in Kind]: Rows<Of> }[Kind]>;
type UnionToIntersection<Union> = (Union extends unknown ? (of: Union) => void : never) extends (
  of: infer All,
) => void
  ? All
  : never;

/* @__NO_SIDE_EFFECTS__ */
function createRows(chat: object, media: object): Models {
  const rows = Object.entries({ chat, ...media }).flatMap(([kind, table]) =>
    Object.entries(table).map(([id, row]) => [id, { id, kind, ...row }]),
  );
  return Object.fromEntries(rows) as Models;
}

/**
 * Table of the gateway's models: the values and bounds that each model accepts. The checks use the same tables. Use
 * them for forms.
 *
 * @example
 * ```ts run
 * const { maxTokens } = models["delta-5.3"];
 * const chats = Object.values(models).filter(({ kind }) => kind === "chat");
 * ```
 */
export const models: Models = createRows(chatModels, mediaModels);

/** Id of a model of {@link models}. */
export type ModelId = keyof typeof models;

interface Row<Id extends string, Of extends Kind> {
  /** Id of the model at the gateway. */
  readonly id: Id;
  /** Kind of the model's results. */
  readonly kind: Of;
  /** Family of the model in the names of its rules: `chat.alpha.max-tokens`. */
  readonly family: string;
}

interface ChatRow extends Row<ChatModel, "chat"> {
  /** Values of `thinking.type`, the default first; none for a model without thinking. */
  readonly thinking: readonly string[];
  /** Values of `reasoning_effort`; none for a model without the field. */
  readonly reasoningEffort: readonly string[];
  /** Default of `reasoning_effort`. */
  readonly reasoningEffortDefault?: string;
  /** Largest `max_tokens`. */
  readonly maxTokens: number;
  /** Largest `temperature`. */
  readonly temperature: number;
  /** True for a model with `frequency_penalty` and `presence_penalty`. */
  readonly penalties: boolean;
  /** Largest number of `stop` sequences; `1` means a single string. */
  readonly stop: number;
  /** True for a model with image input. */
  readonly seesImages: boolean;
  /** True for a model with tools. `unlisted`: the spec does not list them, so the model may ignore them. */
  readonly tools: boolean | "unlisted";
  /** True for a model with `response_format: { type: "json_object" }`. */
  readonly jsonMode: boolean;
  /** True for a model that reports the usage of a stream only with `stream_options.include_usage`. */
  readonly usageOnRequest?: boolean;
}

interface ImageRow extends Row<ImageModel, "image"> {
  /** Values of `size`. */
  readonly sizes: readonly string[];
  /** Default of `watermark`. */
  readonly watermarkDefault: boolean;
}

interface VideoRow extends Row<VideoModel, "video"> {
  /** Values of `resolution`. */
  readonly resolutions: readonly string[];
  /** Default of `resolution`. */
  readonly resolutionDefault?: string;
  /** Values of `ratio`. */
  readonly ratios: readonly string[];
  /** Default of `ratio`. */
  readonly ratioDefault?: string;
  /** Length in seconds; with `auto` the model chooses. */
  readonly duration: {
    /** Shortest length. */
    readonly min: number;
    /** Longest length. */
    readonly max: number;
    /** Value that lets the model choose. */
    readonly auto?: number;
  };
  /** Default length in seconds. */
  readonly durationDefault?: number;
  /** Bounds of `seed`. */
  readonly seed?: {
    /** Smallest seed. */
    readonly min: number;
    /** Largest seed. */
    readonly max: number;
  };
  /** Default of `watermark`. */
  readonly watermarkDefault?: boolean;
  /** Values of `role` of an image. */
  readonly roles?: readonly string[];
  /** Ratios of text to video. */
  readonly textRatios?: readonly string[];
  /** Default ratio of text to video. */
  readonly textRatioDefault?: string;
  /** True for a model with `generate_audio`. */
  readonly generateAudio?: boolean;
  /** True for a model with `return_last_frame`. */
  readonly returnLastFrame?: boolean;
  /** Default of `camera_fixed`. */
  readonly cameraFixedDefault?: boolean;
}

interface AssetRow extends Row<AssetModel, "asset"> {
  /** Values of `AssetType`. */
  readonly types: readonly string[];
}

/** A row of {@link models}. The rows of specific models have more fields. */
export type ModelInfo = Infos[keyof Infos] | Exclude<Models[ModelId], { readonly kind: keyof Infos }>;
