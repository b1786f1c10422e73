/**
 * Lists what is wrong on screen: a page that scrolls sideways, controls that a finger misses, sentences of the studio
 * that have more than twelve words. Runs in the page, so it uses nothing from outside of itself.
 */
export function findVisibleProblems(): readonly string[] {
  /** Half of the 44 pixels that a control reaches in each direction, less its border. */
  const REACH = 20;
  const MAX_WORDS = 12;
  const controls = "button, a[href], input, select, textarea, [role=switch], [role=tab], [role=menuitem]";
  /** A link in a sentence is as high as its line. The controls of a video are the browser's. */
  const exempt = "[aria-hidden=true], [inert], p a, article li a, video";
  /** Words of the model, the user or the code are not the studio's. */
  const foreign = "article, pre, code, textarea, [role=log], [role=tabpanel], script, style";

  return [...findSidewaysScroll(), ...findSmallTargets(), ...findLongSentences()];

  function findSidewaysScroll(): string[] {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} pixels wider than the window`] : [];
  }

  function findSmallTargets(): string[] {
    return [...document.querySelectorAll(controls)]
      .filter((control) => !control.matches(exempt) && !control.closest("[inert]"))
      .map((control) => control.closest("label") ?? control)
      .filter(isSmall)
      .map((target) => {
        const { width, height } = target.getBoundingClientRect();
        const name = target.getAttribute("aria-label") ?? target.textContent?.trim() ?? "";
        return `${name.slice(0, 40) || target.outerHTML.slice(0, 80)}: ${Math.round(width)} × ${Math.round(height)}`;
      });
  }

  /** Finds the element at points around the middle: a target can be larger than its box. */
  function isSmall(target: Element): boolean {
    const { left, top, width, height } = target.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    if (width <= 1 || Math.min(width, height) > 2 * REACH || !isHit(target, x, y)) return false;
    const isReached = (x: number, y: number) => isHit(target, x, y) || isUnderPopup(target, x, y);
    return !(
      isReached(x - REACH, y) &&
      isReached(x + REACH, y) &&
      isReached(x, y - REACH) &&
      isReached(x, y + REACH)
    );
  }

  /** Returns true if an open popup covers this point: the target below it has its size again when the popup closes. */
  function isUnderPopup(target: Element, x: number, y: number): boolean {
    const popup = document.elementFromPoint(x, y)?.closest("[role=dialog], [role=menu], [role=listbox]");
    return popup ? !popup.contains(target) : false;
  }

  /** Checks that a press at this place reaches the target, or the slider around it. */
  function isHit(target: Element, x: number, y: number): boolean {
    if (!isInWindow(x, y)) return false;
    const pressed = document.elementFromPoint(x, y);
    const slider = target.matches("[type=range]") ? pressed?.closest("[role=group]") : undefined;
    return target.contains(pressed) || slider?.contains(target) === true;
  }

  function isInWindow(x: number, y: number): boolean {
    return x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
  }

  function findLongSentences(): string[] {
    const found: string[] = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      if (!text.parentElement?.closest(foreign) && text.parentElement?.checkVisibility())
        found.push(...(text.nodeValue ?? "").split(/[.!?:·]\s/));
    return found.filter((sentence) => sentence.trim().split(/\s+/).length > MAX_WORDS);
  }
}
