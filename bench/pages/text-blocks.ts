/** Characters after which a block ends with its line. */
const LONG = 4096;

/**
 * Creates a function that splits a long text at line ends into blocks. While the text grows, only the last block
 * changes, and the others are the same strings as before. Joined, the blocks are the text.
 *
 * A browser lays out the whole text of an element when it grows. For a response of megabytes in one element, each layout
 * takes a second, and the page hangs. In separate elements, the earlier blocks keep their layout. With
 * `content-visibility: auto`, the browser lays out only the blocks near the viewport.
 *
 * @example
 * ```tsx
 * const Block = memo(function Block({ text }: { text: string }) {
 *   return <div className="block">{text}</div>;
 * });
 * function Reply({ text }: { text: string }) {
 *   const [splitBlocks] = useState(createTextBlocks);
 *   return splitBlocks(text).map((block, at) => <Block key={at} text={block} />);
 * }
 * ```
 * ```css
 * .block { white-space: pre-wrap }
 * .block:not(:last-child) { content-visibility: auto; contain-intrinsic-size: auto 1000px }
 * ```
 */
export function createTextBlocks(): (text: string) => readonly string[] {
  let known: readonly string[] = [];
  return (text) => {
    const blocks: string[] = [];
    for (let start = 0, end = 0; end < text.length; start = end) {
      end = text.indexOf("\n", start + LONG) + 1 || text.length;
      const block = text.slice(start, end);
      const same = known[blocks.length];
      // engines slice strings by reference: without the copy, each block would keep an earlier whole text in memory
      blocks.push(block === same ? same : ` ${block}`.slice(1));
    }
    known = blocks;
    return blocks;
  };
}
