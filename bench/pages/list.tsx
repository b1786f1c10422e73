import { memo, type ReactNode, useLayoutEffect, useState } from "react";

/** A message of any client. */
export interface Message {
  readonly id: string;
}

/** Reads the whole text of a message. */
export type TextOf<Row> = (message: Row) => string;

/** Shared by all subjects: what the list counts, and what the run needs of it. */
export const list = {
  commits: 0,
  onCommit: () => {},
  /** Asks for the response; set by the subject once it is mounted. */
  send: (): unknown => undefined,
};

const Block = memo(function Block({ text }: { readonly text: string }) {
  return <div className="block">{text}</div>;
});

/** As the manual shows it: of the blocks that are whole, the browser lays out only those near the viewport. */
const rule = ".block:not(:last-child) { content-visibility: auto; contain-intrinsic-size: auto 1000px }";

/** Creates a function that splits a growing text into blocks. Only the last block changes. */
export type Split = (() => (text: string) => readonly string[]) | undefined;

const Row = memo(function Row({ text, split }: { readonly text: string; readonly split: Split }) {
  const [splitBlocks] = useState(() => split?.());
  // blocks of one text, in their order
  const blocks = splitBlocks?.(text).map((block, at) => <Block key={`block ${at + 1}`} text={block} />);
  return <li>{blocks ?? <p>{text}</p>}</li>;
});

/** The messages as memoized rows. */
export function List<Row extends Message>({
  messages,
  readText,
  split,
}: {
  readonly messages: readonly Row[];
  readonly readText: TextOf<Row>;
  readonly split?: Split;
}): ReactNode {
  useLayoutEffect(() => {
    list.commits += 1;
    list.onCommit();
  });
  return (
    <>
      <style>{rule}</style>
      <ol>
        {messages.map((message) => (
          <Row key={message.id} text={readText(message)} split={split} />
        ))}
      </ol>
    </>
  );
}

/** Past messages: the texts that each subject starts with. */
export function pastTexts(count: number): string[] {
  return Array.from(
    { length: count },
    (_, at) => `message ${at}: the quick brown fox jumps over the lazy dog`,
  );
}

/** Renders a chat with one subject. `address` is the URL of the response. */
export type Subject = (past: number, address: string) => ReactNode;
