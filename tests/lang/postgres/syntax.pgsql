-- Nothing before it prints.

selec 'one' as result;
select 'not reached' as result;
