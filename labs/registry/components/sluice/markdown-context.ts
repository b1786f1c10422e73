"use client";

import { type ComponentType, createContext, type ReactNode } from "react";

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

/** Blocks of the app, which a response shows beside its text. */
export const BlocksContext = createContext<Blocks>({});
