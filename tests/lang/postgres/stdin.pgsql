create table lines (line text);
copy lines from stdin;
select upper(line) as line from lines;
