import { memo, type ReactNode, useId } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { splitBlocks } from "./blocks.js";
import { CodeBlock } from "./code-block.js";
import { RemoteImage } from "./remote-image.js";
import "./markdown.css";

/** A model's Markdown. Its HTML stays text, and nothing in it makes the browser fetch anything by itself. */
export function Markdown({ text, isLive }: { text: string; isLive: boolean }) {
  const prefix = useId();
  return (
    <div className={isLive ? "markdown live" : "markdown"}>
      {splitBlocks(text).map((block, place) => (
        // the text only grows: a block keeps its place
        <Block key={place} text={block} prefix={prefix} />
      ))}
    </div>
  );
}

const plugins = [remarkGfm];

const Block = memo(function Block({ text, prefix }: { text: string; prefix: string }) {
  return (
    // the prefix keeps the footnotes of two answers apart
    <ReactMarkdown
      remarkPlugins={plugins}
      remarkRehypeOptions={{ clobberPrefix: prefix }}
      components={components}
    >
      {text}
    </ReactMarkdown>
  );
});

const components: Components = {
  // the page's own heading is the first level, and a message is no chapter of it
  h1: "h3",
  h2: "h4",
  h3: "h5",
  h4: "h6",
  h5: "h6",
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <RemoteImage src={src} alt={alt} />,
  input: ({ checked }) => (
    <input type="checkbox" checked={checked ?? false} disabled aria-label={checked ? "Done" : "Not done"} />
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by those who scroll with keys
    <section className="table" aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </section>
  ),
};

function Link({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (href?.startsWith("#")) return <a href={href}>{children}</a>;
  // what is left of a `javascript:` address, and paths, which would lead into this page
  if (!href || !/^(?:https?|mailto):/i.test(href)) return children;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
