/* How the page looks: one style sheet for light and dark, narrow and wide; a few lines of script for values on pointing. */
#include "report/html.h"

/* Text colours stand at 4.5 : 1 at least on what they lie on, lines of charts at 3 : 1 (tests/pipeline/report_check.py computes it). */
static const char colours[] =
    ":root{color-scheme:light dark;"
    "--page:#f5f6f8;--card:#ffffff;--ink:#1a2028;--soft:#56606c;--rule:#dfe3e8;--grid:#e8ebef;--accent:#1f5fbf;--mark:#fdf0d5;--mark-ink:#6b4700;"
    "--c0:#1f5fbf;--c1:#c2410c;--c2:#0b7a5c;--c3:#8a3fc0;--c4:#b8246f;--c5:#6f6a00;--c6:#0a7490;--c7:#5b6470}"
    "@media(prefers-color-scheme:dark){:root{"
    "--page:#101418;--card:#181d23;--ink:#e7ebf0;--soft:#a0abb8;--rule:#2c343d;--grid:#262d35;--accent:#7db2ff;--mark:#3d3014;--mark-ink:#f5d48a;"
    "--c0:#6aa6ff;--c1:#ff9152;--c2:#45c99b;--c3:#c497ff;--c4:#ff83b3;--c5:#d3c74f;--c6:#4cc4de;--c7:#a3adb9}}";

static const char layout[] =
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
    "-webkit-text-size-adjust:100%}"
    "main{max-width:1080px;margin:0 auto;padding:28px 20px 48px}"
    "header h1{font-size:26px;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}"
    "header p{margin:0;color:var(--soft)}"
    "section{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:18px 20px;margin-top:18px;min-width:0}"
    "h2{font-size:17px;margin:0 0 2px}"
    ".remark{color:var(--soft);font-size:13px;font-weight:400}"
    "p.remark{margin:0 0 8px;max-width:70ch}"
    "a{color:var(--accent)}"
    "code,pre,.mono{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:13px}"
    "pre{background:var(--page);border:1px solid var(--rule);border-radius:8px;padding:12px;overflow-x:auto;margin:10px 0 0}"
    ".stats{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin-top:18px}"
    ".stat{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:12px 14px}"
    ".stat span{display:block}.stat .label{color:var(--soft);font-size:13px}"
    ".stat strong{display:block;font-size:21px;line-height:1.35;font-weight:650;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}"
    ".charts{display:grid;grid-template-columns:1fr 1fr;gap:10px 32px}"
    "figure{margin:12px 0 0;min-width:0;display:flex;flex-direction:column}.charts "
    "figure:last-child:nth-child(odd){grid-column:1/-1}figcaption{font-weight:600;font-size:14px}"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 16px;margin:4px 0 0;padding:0;font-size:13px;color:var(--soft)}"
    ".legend li{overflow-wrap:anywhere}"
    ".key{display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:6px;vertical-align:middle}";

static const char charts[] =
    ".plot{position:relative;height:220px;margin:auto 8px 44px 52px;top:10px}"
    ".plot svg{width:100%;height:100%;display:block;overflow:visible}"
    ".plot path{fill:none;vector-effect:non-scaling-stroke}"
    ".grid{stroke:var(--grid);stroke-width:1}"
    ".line{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".faint{stroke-width:1;opacity:.35}.dashed{stroke-width:1.5;stroke-dasharray:3 4}"
    ".dot{stroke-width:8;stroke-linecap:round}"
    ".plot span{position:absolute;font-size:12px;line-height:1;color:var(--soft);white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".plot .y{right:calc(100% + 8px);transform:translateY(50%)}"
    ".plot .x{top:calc(100% + 8px);transform:translateX(-50%)}"
    ".plot .xname{top:calc(100% + 26px);right:0}"
    ".plot .guide{position:absolute;top:0;bottom:0;width:1px;background:var(--soft);display:none;pointer-events:none}"
    ".plot .tip{position:absolute;top:4px;display:none;pointer-events:none;background:var(--card);color:var(--ink);border:1px solid var(--rule);"
    "border-radius:6px;padding:6px 9px;font-size:12px;line-height:1.5;box-shadow:0 2px 10px #0003;z-index:1;max-width:240px;"
    "font-variant-numeric:tabular-nums}"
    ".tip b{font-weight:650}.tip i{display:inline-block;width:8px;height:8px;border-radius:2px;margin-right:6px}"
    ".c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}"
    ".c4{stroke:var(--c4)}.c5{stroke:var(--c5)}.c6{stroke:var(--c6)}.c7{stroke:var(--c7)}"
    ".key.c0,.tip .c0{background:var(--c0)}.key.c1,.tip .c1{background:var(--c1)}.key.c2,.tip .c2{background:var(--c2)}"
    ".key.c3,.tip .c3{background:var(--c3)}.key.c4,.tip .c4{background:var(--c4)}.key.c5,.tip .c5{background:var(--c5)}"
    ".key.c6,.tip .c6{background:var(--c6)}.key.c7,.tip .c7{background:var(--c7)}"
    ".plot .area{stroke:none;fill-opacity:.18}"
    ".area.c0{fill:var(--c0)}.area.c1{fill:var(--c1)}.area.c2{fill:var(--c2)}.area.c3{fill:var(--c3)}";

static const char tables[] =
    ".wide{overflow-x:auto;margin-top:8px}"
    "table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}"
    "th,td{text-align:right;padding:6px 12px 6px 0;border-bottom:1px solid var(--rule);vertical-align:top}"
    "th:first-child,td:first-child,.left{text-align:left}"
    "th{font-weight:600;color:var(--soft);font-size:13px;white-space:nowrap}"
    "tr:last-child td{border-bottom:0}"
    "td.text{text-align:left;min-width:220px;overflow-wrap:anywhere}"
    "td.original{white-space:pre-line}"
    "td.mono{overflow-wrap:anywhere;text-align:left}"
    "tr.marked td{background:var(--mark);color:var(--mark-ink)}tr.marked td:first-child{box-shadow:inset 3px 0 var(--c1);padding-left:10px}"
    ".bar{display:block;height:10px;border-radius:0 4px 4px 0;background:var(--c0);min-width:2px}"
    "td.bars{width:45%;text-align:left;padding-top:11px}"
    "details{margin-top:10px}summary{cursor:pointer;color:var(--accent);font-size:14px;padding:4px 0}"
    "h3{font-size:14px;margin:14px 0 0}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:8px 0 0;font-size:14px}dt{color:var(--soft)}"
    "dd{margin:0;overflow-wrap:anywhere}"
    "footer{color:var(--soft);font-size:13px;margin-top:22px}"
    "@media(max-width:720px){main{padding:18px 12px 36px}section{padding:14px}.charts{grid-template-columns:1fr}.plot{height:190px}"
    ".stats{grid-template-columns:1fr 1fr}.stat strong{font-size:20px}dl{grid-template-columns:1fr;gap:0}dt{margin-top:8px}td.bars{width:30%}"
    ".mistakes,.mistakes tbody{display:block}.mistakes tr{display:flex;flex-wrap:wrap;border-bottom:1px solid var(--rule)}.mistakes td{border:0}"
    ".mistakes .text{flex-basis:100%;min-width:0;padding-top:0}.mistakes th.text{display:none}}"
    "@media print{section{break-inside:avoid}.tip,.guide{display:none}}";

/* The nearest point of each series to where the hand points, in a box beside a line. */
static const char script[] =
    "document.querySelectorAll('.plot').forEach(function(p){"
    "var "
    "d=JSON.parse(p.querySelector('script').textContent),g=p.appendChild(document.createElement('div')),t=p.appendChild(document.createElement('div')"
    ");"
    "g.className='guide';t.className='tip';"
    "function show(e){var r=p.getBoundingClientRect(),m=(e.clientX-r.left)/r.width*1000,rows=[],best=null;"
    "d.s.forEach(function(s){if(!s.p.length)return;var n=s.p[0];s.p.forEach(function(q){if(Math.abs(q[0]-m)<Math.abs(n[0]-m))n=q});"
    "if(!best||Math.abs(n[0]-m)<Math.abs(best[0]-m))best=n;rows.push([s,n])});if(!best)return;"
    "t.textContent='';var b=document.createElement('b');b.textContent=d.x+' '+best[2];t.appendChild(b);"
    "rows.forEach(function(w){var l=document.createElement('div'),k=document.createElement('i');k.className='c'+w[0].c;"
    "l.appendChild(k);l.appendChild(document.createTextNode(w[0].n+': '+w[1][3]));t.appendChild(l)});"
    "g.style.display=t.style.display='block';g.style.left=best[0]/10+'%';"
    "if(best[0]>500){t.style.left='auto';t.style.right=102-best[0]/10+'%'}else{t.style.right='auto';t.style.left=best[0]/10+2+'%'}}"
    "p.addEventListener('pointermove',show);p.addEventListener('pointerdown',show);"
    "p.addEventListener('pointerleave',function(){g.style.display=t.style.display='none'})});";

void html_open_page(FILE *out, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline';img-src "
          "data:\">\n"
          "<link rel=\"icon\" href=\"data:,\"><title>",
          out);
    html_text(out, title);
    fprintf(out, "</title>\n<style>\n%s\n%s\n%s\n%s\n</style></head>\n<body><main>\n", colours, layout, charts, tables);
}

void html_close_page(FILE *out)
{
    fprintf(out, "<footer>Made by fretsaw report %s.</footer>\n</main>\n<script>%s</script>\n</body></html>\n", FRETSAW_VERSION, script);
}
