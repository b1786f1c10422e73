/** The place of a live example in the page. */
export interface Page {
  /** Address of the emulator, which runs in a Service Worker of this site. */
  readonly baseURL: string;
  /** The reader's choice, where the example offers one. */
  readonly choice: string;
  /** Aborts when the reader presses Stop. */
  readonly signal: AbortSignal;
  /** Adds text to the output. */
  readonly write: (text: string) => void;
  /** Shows a picture or a video. */
  readonly show: (media: {
    readonly type: "image" | "video";
    readonly url: string;
    readonly alt: string;
  }) => void;
}

/** A module of `examples/`. */
export interface LiveModule {
  run(page: Page): Promise<void>;
}
