"use client";

import { Streamdown } from "streamdown";

/** Shows a text of a model as Markdown, also while it grows. */
export function markdown(text: string, isLive: boolean) {
  return (
    <Streamdown dir="auto" className="wrap-anywhere" isAnimating={isLive} controls={false}>
      {text}
    </Streamdown>
  );
}
