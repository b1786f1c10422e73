import { chatModels } from "../vocabulary/chat-models.js";
import { assetModels, imageModels, videoModels } from "../vocabulary/media-models.js";

type Rows<Kind extends string, Table> = {
  readonly [Id in keyof Table]: {
    /** Id of the model, as the gateway spells it. */
    readonly id: Id;
    /** What the model makes. */
    readonly kind: Kind;
  } & Table[Id];
};

/* @__NO_SIDE_EFFECTS__ */
function rowsOf<const Kind extends string, Table extends object>(
  kind: Kind,
  table: Table,
): Rows<Kind, Table> {
  const rows = Object.entries(table).map(([id, row]) => [id, { id, kind, ...row }]);
  return Object.fromEntries(rows) as Rows<Kind, Table>;
}

/**
 * Table of the gateway's models (spec, Models): the values and bounds that each model accepts. The checks use the same
 * tables, and forms can use them, too.
 *
 * @example
 * ```ts run
 * const { maxTokens } = models["delta-5.3"];
 * const chats = Object.values(models).filter(({ kind }) => kind === "chat");
 * ```
 */
export const models = {
  ...rowsOf("chat", chatModels),
  ...rowsOf("image", imageModels),
  ...rowsOf("video", videoModels),
  ...rowsOf("asset", assetModels),
};

/** Id of a model of {@link models}. */
export type ModelId = keyof typeof models;

/** A row of {@link models}. */
export type ModelInfo = (typeof models)[ModelId];
