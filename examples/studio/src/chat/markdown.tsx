import type { MathPlugin } from "@streamdown/math";
import clsx from "clsx";
import { type ComponentProps, type ElementType, memo, useEffect, useState } from "react";
import { type Components, type ExtraProps, type PluginConfig, Streamdown } from "streamdown";
import { Button } from "@/components/sluice/button";
import { soon } from "../browser.js";
import { CodeBlock } from "./code-block.js";
import { formulasOf, placeWidth } from "./formulas.js";

interface MarkdownProps {
  readonly text: string;
  /** Says if the text still grows: Markdown that is not finished is closed then. */
  readonly isLive: boolean;
  /** Says if the text ends before its end: what it leaves open is closed, too. */
  readonly isCut?: boolean;
}

/** An answer's text: Markdown with code, formulas and diagrams. */
export const Markdown = memo(function Markdown({ text, isLive, isCut = false }: MarkdownProps) {
  const isOpen = isLive || isCut;
  const { tex, places, hasMath } = formulasOf(
    isOpen ? withoutTableHead(text.replace(OPEN_MARK, "")) : text,
    isLive ? "place" : isCut ? "nothing" : "text",
  );
  const math = useMath(hasMath);
  return (
    <Streamdown
      className="flex min-w-0 flex-col gap-3 wrap-anywhere"
      dir="auto"
      parseIncompleteMarkdown={isOpen}
      isAnimating={isLive}
      components={components}
      plugins={math ?? noPlugins}
      controls={false}
    >
      {math ? tex : places}
    </Streamdown>
  );
});

const noPlugins: PluginConfig = {};
let loadedMath: { readonly math: MathPlugin } | undefined;

/** The plugin for formulas, loaded with the first formula; undefined until then. */
function useMath(hasMath: boolean): PluginConfig | undefined {
  const [math, setMath] = useState<PluginConfig | undefined>(loadedMath);
  useEffect(() => {
    if (!hasMath || math) return;
    let isLeft = false;
    loadMath().then(
      (plugins) => soon(() => !isLeft && setMath(plugins)),
      () => {
        // offline: the formulas are shown as they were written
        if (!isLeft) setMath(noPlugins);
      },
    );
    return () => {
      isLeft = true;
    };
  }, [hasMath, math]);
  return math;
}

async function loadMath(): Promise<PluginConfig> {
  const [{ createMathPlugin }] = await Promise.all([
    import("@streamdown/math"),
    import("katex/dist/katex.min.css"),
  ]);
  loadedMath ??= { math: createMathPlugin({ errorColor: "var(--color-danger)" }) };
  return loadedMath;
}

/** Signs of emphasis or code at the end, that nothing follows yet: they would be shown as they are. */
const OPEN_MARK = /(?<=^|[\s(])[*_~`]{1,3}$/;

/** Leaves out the head of a table until its second line is there: before, it would be a line of bars. */
function withoutTableHead(text: string): string {
  const lines = text.split("\n");
  const before = lines.findLastIndex((line) => !line.trimStart().startsWith("|"));
  const rows = lines.length - before - 1;
  // the second line is whole when a third one has begun
  return rows === 1 || rows === 2 ? lines.slice(0, before + 1).join("\n") : text;
}

/** Makes a component of an element and its classes. */
function styled<Tag extends keyof React.JSX.IntrinsicElements>(Tag: Tag, classes: string) {
  const Element = Tag as ElementType;
  return ({ node: _, className, ...rest }: ComponentProps<Tag> & ExtraProps) => (
    <Element className={clsx(classes, className)} {...rest} />
  );
}

const heading = "font-semibold tracking-tight text-balance";

/** The elements of an answer. Its headings stand below the one of the turn. */
const components: Components = {
  h1: styled("h3", `${heading} mt-3 text-2xl`),
  h2: styled("h3", `${heading} mt-3 text-lg`),
  h3: styled("h4", `${heading} mt-2`),
  h4: styled("h5", `${heading} mt-1`),
  h5: styled("h6", heading),
  h6: styled("h6", heading),
  p: styled("p", "[unicode-bidi:plaintext]"),
  ul: styled("ul", "flex list-disc flex-col gap-1.5 ps-6 marker:text-muted"),
  ol: styled("ol", "flex list-decimal flex-col gap-1.5 ps-6 marker:text-muted"),
  li: styled(
    "li",
    "[&.task-list-item]:-ms-5 [&.task-list-item]:list-none [&>figure]:mt-2 [&>p]:inline [&>ol]:mt-1.5 [&>ul]:mt-1.5 [&>input]:me-2",
  ),
  blockquote: styled("blockquote", "border-s-2 border-accent ps-4 text-muted"),
  hr: styled("hr", "my-2"),
  strong: styled("strong", "font-semibold"),
  em: styled("em", "italic"),
  del: styled("del", "line-through"),
  sup: styled("sup", "text-xs"),
  sub: styled("sub", "text-xs"),
  section: styled("section", "mt-2 border-t pt-3 text-sm text-muted"),
  inlineCode: InlineCode,
  a: Link,
  img: RemoteImage,
  pre: CodeBlock,
  table: Table,
  thead: styled("thead", "bg-surface text-start"),
  tbody: styled("tbody", "divide-y"),
  tr: styled("tr", ""),
  th: styled("th", "px-3 py-2 text-start font-medium whitespace-nowrap [unicode-bidi:plaintext]"),
  td: styled("td", "px-3 py-2 align-top tabular-nums [unicode-bidi:plaintext]"),
};

const Plain = styled("code", "rounded-md bg-hover px-1.5 py-0.5 font-mono text-[0.875em]");

/** Code within a line, or the place of a formula that is still loading. */
function InlineCode(props: ComponentProps<"code"> & ExtraProps) {
  const width = placeWidth(props.children);
  if (width === undefined) return <Plain {...props} />;
  return (
    <span
      role="img"
      aria-label="Formula"
      className="inline-block h-[1em] max-w-full rounded-sm bg-hover align-middle"
      style={{ width: `${width}ch` }}
    />
  );
}

function Link({ node: _, children, href, ...rest }: ComponentProps<"a"> & ExtraProps) {
  const isOutside = /^https?:/.test(href ?? "");
  return (
    <a
      href={href}
      {...(isOutside && { target: "_blank", rel: "noreferrer" })}
      {...rest}
      className="text-accent underline underline-offset-4"
    >
      {children}
    </a>
  );
}

function Table({ node: _, children, className, ...rest }: ComponentProps<"table"> & ExtraProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a wide table
    <div tabIndex={0} className="max-w-full overflow-x-auto rounded-xl border">
      <table className="w-full border-collapse text-sm wrap-break-word" {...rest}>
        {children}
      </table>
    </div>
  );
}

/** An image of another server. It is loaded when the user wants it: the server learns who reads this. */
function RemoteImage({ node: _, src, alt }: ComponentProps<"img"> & ExtraProps) {
  const [isShown, setIsShown] = useState(false);
  if (typeof src !== "string" || src === "") return null;
  if (isShown) return <img src={src} alt={alt ?? ""} className="max-w-full rounded-xl" />;
  return (
    <Button onClick={() => setIsShown(true)}>
      Show image from {URL.canParse(src, location.href) ? new URL(src, location.href).host : "the web"}
    </Button>
  );
}
