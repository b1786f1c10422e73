import { isValidElement, type ReactNode, useRef } from "react";
import { CopyButton } from "../copy-button.js";
import "./code-block.css";

/** Code, with its language and a way to take it along. */
export function CodeBlock({ children }: { children: ReactNode }) {
  const code = useRef<HTMLPreElement>(null);
  return (
    <figure className="code">
      <figcaption>
        <span>{languageOf(children)}</span>
        <CopyButton name="Copy code" textOf={() => code.current?.textContent?.trimEnd() ?? ""} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by those who scroll with keys */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
    </figure>
  );
}

function languageOf(child: ReactNode): string {
  const className = isValidElement<{ className?: string }>(child) ? child.props.className : undefined;
  return /language-(\S+)/.exec(className ?? "")?.[1] ?? "code";
}
