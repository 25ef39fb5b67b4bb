create table item (id integer);
insert into item values (1);
selec id from item;
select 'not reached' as result;
