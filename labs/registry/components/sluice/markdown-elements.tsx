"use client";

import { type ComponentProps, type ElementType, useState } from "react";
import type { Components, ExtraProps } from "streamdown";
import { Button } from "@/components/sluice/button";
import { CodeBlock, edgeShadow } from "@/components/sluice/code-block";
import { getPlaceholderWidth } from "@/components/sluice/formulas";
import { markdownWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

/** Makes a component of an element and its classes. */
function styled<Tag extends keyof React.JSX.IntrinsicElements>(Tag: Tag, classes: string) {
  const Element = Tag as ElementType;
  return ({ node: _, className, ...rest }: ComponentProps<Tag> & ExtraProps) => (
    <Element className={cn(classes, className)} {...rest} />
  );
}

const heading = "font-semibold tracking-tight text-balance";

/** The elements of a response. Its headings are one level below the heading of the turn. */
export const elements: Components = {
  h1: styled("h3", `${heading} mt-3 text-2xl`),
  h2: styled("h3", `${heading} mt-3 text-lg`),
  h3: styled("h4", `${heading} mt-2`),
  h4: styled("h5", `${heading} mt-1`),
  h5: styled("h6", heading),
  h6: styled("h6", heading),
  p: styled("p", "[unicode-bidi:plaintext]"),
  ul: styled("ul", "flex list-disc flex-col gap-1.5 ps-6 marker:text-muted-foreground"),
  ol: styled("ol", "flex list-decimal flex-col gap-1.5 ps-6 marker:text-muted-foreground"),
  li: styled(
    "li",
    "[&.task-list-item]:-ms-5 [&.task-list-item]:list-none [&>figure]:mt-2 [&>p]:inline [&>ol]:mt-1.5 [&>ul]:mt-1.5 [&>input]:me-2",
  ),
  blockquote: styled("blockquote", "border-s-2 border-primary ps-4 text-muted-foreground"),
  hr: styled("hr", "my-2"),
  strong: styled("strong", "font-semibold"),
  em: styled("em", "italic"),
  del: styled("del", "line-through"),
  sup: styled("sup", "text-xs"),
  sub: styled("sub", "text-xs"),
  section: styled("section", "mt-2 border-t pt-3 text-sm text-muted-foreground"),
  inlineCode: InlineCode,
  a: Link,
  img: RemoteImage,
  pre: CodeBlock,
  table: Table,
  thead: styled("thead", "bg-secondary/50 text-start"),
  tbody: styled("tbody", "divide-y"),
  tr: styled("tr", ""),
  th: styled("th", "px-3 py-2 text-start font-medium whitespace-nowrap [unicode-bidi:plaintext]"),
  td: styled("td", "px-3 py-2 align-top tabular-nums [unicode-bidi:plaintext]"),
};

const Plain = styled("code", "rounded-md bg-secondary px-1.5 py-0.5 font-mono text-[0.875em]");

/** Inline code, or the placeholder of a formula that is still loading. */
function InlineCode(props: ComponentProps<"code"> & ExtraProps) {
  const width = getPlaceholderWidth(props.children);
  if (width === undefined) return <Plain {...props} />;
  return (
    <span
      role="img"
      aria-label={markdownWords.formula}
      className="inline-block h-[1em] max-w-full rounded-sm bg-secondary align-middle"
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
      className="underline underline-offset-4 hover:text-primary"
    >
      {children}
    </a>
  );
}

function Table({ node: _, children, className, ...rest }: ComponentProps<"table"> & ExtraProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a wide table
    <div tabIndex={0} className={cn("max-w-full overflow-x-auto rounded-xl border", edgeShadow)}>
      <table className="w-full border-collapse text-sm wrap-break-word" {...rest}>
        {children}
      </table>
    </div>
  );
}

/**
 * An image of another server. It loads after a click, because the server learns who reads the response. If the policy of
 * the page refuses it, a link remains.
 */
function RemoteImage({ node: _, src, alt }: ComponentProps<"img"> & ExtraProps) {
  const [isShown, setIsShown] = useState(false);
  const [hasFailed, setHasFailed] = useState(false);
  if (typeof src !== "string" || src === "") return null;
  if (hasFailed)
    return (
      <a href={src} target="_blank" rel="noreferrer" className="underline underline-offset-4">
        {alt || src}
      </a>
    );
  if (isShown)
    return (
      <img
        src={src}
        alt={alt ?? ""}
        className="max-w-full rounded-xl"
        referrerPolicy="no-referrer"
        onError={() => setHasFailed(true)}
      />
    );
  return (
    <Button onClick={() => setIsShown(true)}>
      {markdownWords.showImage(URL.canParse(src) ? new URL(src).host : undefined)}
    </Button>
  );
}
