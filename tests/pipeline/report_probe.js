// Runs inside the page: contrast of every text on what it lies on, no side scrolling, nothing fetched, values on pointing. Says what it found.
(function () {
    function rgb(text) {
        var part = text.match(/[\d.]+/g).map(Number);
        return { colour: part.slice(0, 3), alpha: part.length > 3 ? part[3] : 1 };
    }
    function light(colour) {
        var part = colour.map(function (v) {
            v /= 255;
            return v > 0.03928 ? Math.pow((v + 0.055) / 1.055, 2.4) : v / 12.92;
        });
        return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
    }
    function under(element) {
        for (; element; element = element.parentElement) {
            var ground = rgb(getComputedStyle(element).backgroundColor);
            if (ground.alpha > 0.99) return ground.colour;
        }
        return [255, 255, 255];
    }
    var bad = [], texts = 0;
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
    var walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (var text; (text = walk.nextNode());) {
        var owner = text.parentElement;
        if (!text.data.trim() || owner.tagName == "SCRIPT" || owner.tagName == "STYLE") continue;
        texts++;
        var a = light(rgb(getComputedStyle(owner).color).colour), b = light(under(owner));
        var contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) bad.push(text.data.slice(0, 20) + " " + contrast.toFixed(2));
    }
    if (document.documentElement.scrollWidth > innerWidth + 1) bad.push("wider than the window: " + document.documentElement.scrollWidth);
    var asked = performance.getEntriesByType("resource").length;
    if (asked) bad.push(asked + " requests");
    var plot = document.querySelector(".plot"), place = plot.getBoundingClientRect();
    plot.dispatchEvent(new PointerEvent("pointermove", { clientX: place.left + place.width / 2, clientY: place.top + 5 }));
    var tip = plot.querySelector(".tip");
    if (!/^step \d+/.test(tip.textContent) || tip.style.display != "block") bad.push("no values on pointing: " + tip.textContent);
    var theme = matchMedia("(prefers-color-scheme:dark)").matches ? "dark" : "light";
    console.log("probe: " + (bad.length ? bad.join("; ") : "fine") + ", " + texts + " texts, width " + innerWidth + ", " + theme);
})();
