"use client";

import { type ComponentType, createContext, type ReactNode } from "react";
import { markdownWords } from "@/components/sluice/markdown-words";

/** A block of code that the app draws itself. */
export interface BlockProps {
  /** The code of the block. */
  readonly code: string;
  /** True while the code still grows: what needs all of it shows a place. */
  readonly isIncomplete: boolean;
  /** The code as a block with its tools, to show where it can't be drawn. */
  readonly children: ReactNode;
}

/** Components for blocks of code, by their language: `{ mermaid: Diagram }`. */
export type Blocks = Readonly<Record<string, ComponentType<BlockProps>>>;

/** Words and blocks of the app, which the elements of an answer show beside its text. */
export const MarkdownContext = createContext<{
  readonly words: typeof markdownWords;
  readonly blocks: Blocks;
}>({ words: markdownWords, blocks: {} });
