/** The behaviours by their names. */
export declare const behaviours: Readonly<Record<string, unknown>>;
